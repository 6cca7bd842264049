// SPDX-License-Identifier: Apache-2.0
// A list that stores its first few items in the object itself, and further items on the heap. Most
// lists of strips, of sides of a box, or of dimensions of a type have one to four items. A search
// creates and destroys thousands of such lists, so heap allocations would dominate its time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>

namespace weft::reshard {

/// The part of std::vector<T> that this project needs. Up to `InlineCount` items are stored in the
/// object. A longer list is on the heap. T must be trivially copyable, because items are moved by
/// copying their bytes.
template <class T, std::uint32_t InlineCount>
class ShortList {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  using value_type = T;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  ShortList() = default;
  explicit ShortList(std::size_t count) { resize(count); }
  ShortList(std::initializer_list<T> list) { append(list.begin(), list.end()); }
  template <std::forward_iterator Iterator>
  ShortList(Iterator first, Iterator last) {
    append(first, last);
  }
  ShortList(const ShortList& other) { append(other.begin(), other.end()); }
  ShortList(ShortList&& other) noexcept { steal(other); }
  ShortList& operator=(const ShortList& other) {
    if (this == &other) return *this;
    clear();
    append(other.begin(), other.end());
    return *this;
  }
  ShortList& operator=(ShortList&& other) noexcept {
    if (this == &other) return *this;
    release();
    steal(other);
    return *this;
  }
  ~ShortList() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  iterator begin() { return data_; }
  iterator end() { return data_ + size_; }
  const_iterator begin() const { return data_; }
  const_iterator end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void clear() { size_ = 0; }
  void reserve(std::size_t count) {
    if (count > capacity_) grow(count);
  }
  void resize(std::size_t count) {
    reserve(count);
    for (std::size_t i = size_; i < count; ++i) new (data_ + i) T();
    size_ = static_cast<std::uint32_t>(count);
  }
  void push_back(T item) {
    reserve(std::size_t{size_} + 1);
    new (data_ + size_++) T(item);
  }
  T& emplace_back() {
    push_back(T());
    return back();
  }
  /// The range must not be part of this list, because growing frees the old items first.
  template <std::forward_iterator Iterator>
  void append(Iterator first, Iterator last) {
    reserve(size_ + static_cast<std::size_t>(std::distance(first, last)));
    size_ = static_cast<std::uint32_t>(std::uninitialized_copy(first, last, end()) - data_);
  }

  friend bool operator==(const ShortList& a, const ShortList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  T* inline_data() { return reinterpret_cast<T*>(inline_bytes_); }

  void grow(std::size_t count) {
    const std::size_t capacity = std::max<std::size_t>(count, 2 * std::size_t{capacity_});
    T* more = std::allocator<T>().allocate(capacity);
    std::uninitialized_copy(begin(), end(), more);
    release();
    data_ = more;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }
  void release() {
    if (data_ != inline_data()) std::allocator<T>().deallocate(data_, capacity_);
  }
  /// Takes the items of `other` and leaves it empty. Must follow release() if this list had items.
  void steal(ShortList& other) {
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (other.data_ == other.inline_data()) {
      data_ = inline_data();
      std::uninitialized_copy(other.begin(), other.end(), data_);
    } else {
      data_ = other.data_;
    }
    other.data_ = other.inline_data();
    other.capacity_ = InlineCount;
    other.size_ = 0;
  }

  T* data_ = inline_data();
  std::uint32_t size_ = 0, capacity_ = InlineCount;
  alignas(T) std::byte inline_bytes_[InlineCount * sizeof(T)];
};

}  // namespace weft::reshard
