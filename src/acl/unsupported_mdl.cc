// SPDX-License-Identifier: MIT
// Offline models, which this implementation does not have.
#include "acl/acl_mdl.h"
#include "src/acl/unsupported.h"

using descend::kModel;
using descend::unsupported;

extern "C" {

aclError aclmdlInitDump() { return unsupported(__func__, kModel); }

aclError aclmdlSetDump(const char*) { return unsupported(__func__, kModel); }

aclError aclmdlFinalizeDump() { return unsupported(__func__, kModel); }

aclError aclmdlQuerySize(const char*, size_t*, size_t*) { return unsupported(__func__, kModel); }

aclError aclmdlLoadFromFile(const char*, uint32_t*) { return unsupported(__func__, kModel); }

aclError aclmdlLoadFromMem(const void*, size_t, uint32_t*) { return unsupported(__func__, kModel); }

aclError aclmdlLoadFromFileWithMem(const char*, uint32_t*, void*, size_t, void*, size_t) {
  return unsupported(__func__, kModel);
}

aclError aclmdlUnload(uint32_t) { return unsupported(__func__, kModel); }

aclError aclmdlExecute(uint32_t, const aclmdlDataset*, aclmdlDataset*) { return unsupported(__func__, kModel); }

aclError aclmdlExecuteAsync(uint32_t, const aclmdlDataset*, aclmdlDataset*, aclrtStream) {
  return unsupported(__func__, kModel);
}

aclmdlDesc* aclmdlCreateDesc() {
  unsupported(__func__, kModel);
  return nullptr;
}

aclError aclmdlDestroyDesc(aclmdlDesc*) { return unsupported(__func__, kModel); }

aclError aclmdlGetDesc(aclmdlDesc*, uint32_t) { return unsupported(__func__, kModel); }

size_t aclmdlGetNumInputs(aclmdlDesc*) {
  unsupported(__func__, kModel);
  return 0;
}

size_t aclmdlGetNumOutputs(aclmdlDesc*) {
  unsupported(__func__, kModel);
  return 0;
}

size_t aclmdlGetInputSizeByIndex(aclmdlDesc*, size_t) {
  unsupported(__func__, kModel);
  return 0;
}

size_t aclmdlGetOutputSizeByIndex(aclmdlDesc*, size_t) {
  unsupported(__func__, kModel);
  return 0;
}

aclmdlDataset* aclmdlCreateDataset() {
  unsupported(__func__, kModel);
  return nullptr;
}

aclError aclmdlDestroyDataset(const aclmdlDataset*) { return unsupported(__func__, kModel); }

aclError aclmdlAddDatasetBuffer(aclmdlDataset*, aclDataBuffer*) { return unsupported(__func__, kModel); }

size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset*) {
  unsupported(__func__, kModel);
  return 0;
}

aclDataBuffer* aclmdlGetDatasetBuffer(const aclmdlDataset*, size_t) {
  unsupported(__func__, kModel);
  return nullptr;
}

}  // extern "C"
