// SPDX-License-Identifier: MIT
// Building short texts: cat("it is ", 3, " of ", name).
#pragma once
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace descend {

namespace detail {
inline void append(std::string& to, std::string_view text) { to += text; }
inline void append(std::string& to, char c) { to += c; }
inline void append(std::string& to, bool b) { to += b ? "true" : "false"; }
// Numbers in the shortest form that reads back as the same value.
template <class T>
requires std::is_arithmetic_v<T>
void append(std::string& to, T number) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  to.append(buffer, end);
}
inline void append(std::string& to, const void* address) {
  char buffer[20];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, reinterpret_cast<uintptr_t>(address), 16).ptr;
  to.append("0x").append(buffer, end);
}
inline void append(std::string& to, const char* text) { to += text; }
inline void append(std::string& to, const std::string& text) { to += text; }
}  // namespace detail

template <class... Parts> std::string cat(const Parts&... parts) {
  std::string text;
  (detail::append(text, parts), ...);
  return text;
}

}  // namespace descend
