// SPDX-License-Identifier: MIT
// What is done with a contract's rows on every call: checking a call that passes, and comparing it with an earlier one.
// Here the rules have their types, so that all of it is code without indirection.
#pragma once
#include <array>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "src/plan/plan.h"
#include "src/plan/rows.h"
#include "src/tensor/overlap.h"

namespace descend {

using Extents = std::array<Extent, kMaxTensors>;

// The parameters of one call, to compare another with.
template <class P> class Memory {
 public:
  virtual ~Memory() = default;
  virtual void keep(const P& p) = 0;
  virtual bool holds(const P& p) = 0;
};

// The rows with their types: what is done on every call.
template <class P> class Table {
 public:
  virtual ~Table() = default;
  // Whether every rule holds; then `extents` says where each tensor parameter lies.
  virtual bool holds(const P& p, Extents& extents) const = 0;
  virtual std::unique_ptr<Memory<P>> make_memory() const = 0;
};

template <class P, class... Rows> class MemoryOf final : public Memory<P> {
 public:
  explicit MemoryOf(const std::tuple<Rows...>& rows) : rows_(rows) {}
  void keep(const P& p) override {
    each([&](const auto& row, auto& kept) { return row.keep(p, kept), true; }, kept_);
  }
  bool holds(const P& p) override {
    return each([&](const auto& row, auto& kept) { return row.like(p, kept); }, kept_);
  }

 private:
  template <class Body, class Kept> bool each(const Body& body, Kept& kept) const {
    return [&]<size_t... i>(std::index_sequence<i...>) { return (body(std::get<i>(rows_), std::get<i>(kept)) && ...); }
    (std::index_sequence_for<Rows...>());
  }
  const std::tuple<Rows...>& rows_;
  std::tuple<typename Rows::Kept...> kept_;
};

template <class P, class... Rows> class TableOf final : public Table<P> {
 public:
  explicit TableOf(Rows... rows) : rows_(std::move(rows)...) {}
  bool holds(const P& p, Extents& extents) const override {
    return std::apply([&](const auto&... row) { return hold(p, extents, row...); }, rows_);
  }
  std::unique_ptr<Memory<P>> make_memory() const override { return std::make_unique<MemoryOf<P, Rows...>>(rows_); }

 private:
  static bool hold(const P& p, Extents& extents, const Rows&... row) {
    static_assert((Rows::is_tensor + ...) <= kMaxTensors);
    size_t tensor = 0;
    const auto measured = [&](const auto& r) {
      if constexpr (std::remove_cvref_t<decltype(r)>::is_tensor)
        return measured_one(p.*r.field, r.direction != Direction::kIn, extents[tensor++]);
      else
        return true;
    };
    return (row.usable(p) && ...) && (row.template holds<Stage::kRank>(p) && ...) &&
           (row.template holds<Stage::kDtype>(p) && ...) && (measured(row) && ...) &&
           (row.template holds<Stage::kShape>(p) && ...) && (row.template holds<Stage::kValue>(p) && ...);
  }
  // One that is absent is nowhere.
  static bool measured_one(const aclTensor* t, bool is_written, Extent& extent) {
    extent = {0, 0};
    return !t || measure(*t, is_written, extent);
  }
  const std::tuple<Rows...> rows_;
};

}  // namespace descend
