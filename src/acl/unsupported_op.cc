// SPDX-License-Identifier: MIT
// The single-operator interface and its compiler, which this implementation does not have.
#include "acl/acl_op.h"
#include "acl/acl_op_compiler.h"
#include "src/acl/unsupported.h"

using descend::kSingleOperator;
using descend::unsupported;

extern "C" {

aclError aclopSetModelDir(const char*) { return unsupported(__func__, kSingleOperator); }

aclError aclopLoad(const void*, size_t) { return unsupported(__func__, kSingleOperator); }

aclError aclopSetMaxOpQueueNum(uint64_t) { return unsupported(__func__, kSingleOperator); }

aclopAttr* aclopCreateAttr() {
  unsupported(__func__, kSingleOperator);
  return nullptr;
}

void aclopDestroyAttr(const aclopAttr* object) {
  if (object != nullptr) unsupported(__func__, kSingleOperator);
}

aclError aclopSetAttrBool(aclopAttr*, const char*, uint8_t) { return unsupported(__func__, kSingleOperator); }

aclError aclopSetAttrInt(aclopAttr*, const char*, int64_t) { return unsupported(__func__, kSingleOperator); }

aclError aclopSetAttrFloat(aclopAttr*, const char*, float) { return unsupported(__func__, kSingleOperator); }

aclError aclopSetAttrString(aclopAttr*, const char*, const char*) { return unsupported(__func__, kSingleOperator); }

aclError aclopSetAttrDataType(aclopAttr*, const char*, aclDataType) { return unsupported(__func__, kSingleOperator); }

aclError aclopSetAttrListBool(aclopAttr*, const char*, int, const uint8_t*) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclopSetAttrListInt(aclopAttr*, const char*, int, const int64_t*) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclopSetAttrListFloat(aclopAttr*, const char*, int, const float*) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclopSetAttrListString(aclopAttr*, const char*, int, const char**) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclopSetAttrListDataType(aclopAttr*, const char*, int, const aclDataType[]) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclopSetAttrListListInt(aclopAttr*, const char*, int, const int*, const int64_t* const[]) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclopExecute(const char*, int, const aclTensorDesc* const[], const aclDataBuffer* const[], int,
                      const aclTensorDesc* const[], aclDataBuffer* const[], const aclopAttr*, aclrtStream) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclopExecuteV2(const char*, int, aclTensorDesc*[], aclDataBuffer*[], int, aclTensorDesc*[], aclDataBuffer*[],
                        aclopAttr*, aclrtStream) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclopCreateHandle(const char*, int, const aclTensorDesc* const[], int, const aclTensorDesc* const[],
                           const aclopAttr*, aclopHandle**) {
  return unsupported(__func__, kSingleOperator);
}

void aclopDestroyHandle(aclopHandle* object) {
  if (object != nullptr) unsupported(__func__, kSingleOperator);
}

aclError aclopExecWithHandle(aclopHandle*, int, const aclDataBuffer* const[], int, aclDataBuffer* const[],
                             aclrtStream) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclopCast(const aclTensorDesc*, const aclDataBuffer*, const aclTensorDesc*, aclDataBuffer*, uint8_t,
                   aclrtStream) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclopInferShape(const char*, int, aclTensorDesc*[], aclDataBuffer*[], int, aclTensorDesc*[], aclopAttr*) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclopStartDumpArgs(uint32_t, const char*) { return unsupported(__func__, kSingleOperator); }

aclError aclopStopDumpArgs(uint32_t) { return unsupported(__func__, kSingleOperator); }

aclError aclopCompile(const char*, int, const aclTensorDesc* const[], int, const aclTensorDesc* const[],
                      const aclopAttr*, aclopEngineType, aclopCompileType, const char*) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclopCompileAndExecute(const char*, int, const aclTensorDesc* const[], const aclDataBuffer* const[], int,
                                const aclTensorDesc* const[], aclDataBuffer* const[], const aclopAttr*, aclopEngineType,
                                aclopCompileType, const char*, aclrtStream) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclopCompileAndExecuteV2(const char*, int, aclTensorDesc*[], aclDataBuffer*[], int, aclTensorDesc*[],
                                  aclDataBuffer*[], aclopAttr*, aclopEngineType, aclopCompileType, const char*,
                                  aclrtStream) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclSetCompileopt(aclCompileOpt, const char*) { return unsupported(__func__, kSingleOperator); }

size_t aclGetCompileoptSize(aclCompileOpt) {
  unsupported(__func__, kSingleOperator);
  return 0;
}

aclError aclGetCompileopt(aclCompileOpt, char*, size_t) { return unsupported(__func__, kSingleOperator); }

aclError aclopSetCompileFlag(aclOpCompileFlag) { return unsupported(__func__, kSingleOperator); }

aclGraphDumpOption* aclCreateGraphDumpOpt() {
  unsupported(__func__, kSingleOperator);
  return nullptr;
}

aclError aclDestroyGraphDumpOpt(const aclGraphDumpOption*) { return unsupported(__func__, kSingleOperator); }

aclError aclGenGraphAndDumpForOp(const char*, int, const aclTensorDesc* const[], const aclDataBuffer* const[], int,
                                 const aclTensorDesc* const[], aclDataBuffer* const[], const aclopAttr*,
                                 aclopEngineType, const char*, const aclGraphDumpOption*) {
  return unsupported(__func__, kSingleOperator);
}

}  // extern "C"
