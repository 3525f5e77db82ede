// What the language itself asks of namespace std, and what NVRTC brings there unasked: initializer_list, move, forward.
#pragma once
namespace std {
template <class T> class initializer_list {
    const T* first = nullptr;
    size_t count = 0;
    __device__ __host__ constexpr initializer_list(const T* start, size_t n) : first(start), count(n) {}

  public:
    typedef T value_type;
    typedef const T& reference;
    typedef const T& const_reference;
    typedef size_t size_type;
    typedef const T* iterator;
    typedef const T* const_iterator;
    __device__ __host__ constexpr initializer_list() noexcept {}
    __device__ __host__ constexpr size_t size() const noexcept { return count; }
    __device__ __host__ constexpr const T* begin() const noexcept { return first; }
    __device__ __host__ constexpr const T* end() const noexcept { return first + count; }
};
template <class T> __device__ __host__ constexpr const T* begin(initializer_list<T> list) noexcept { return list.begin(); }
template <class T> __device__ __host__ constexpr const T* end(initializer_list<T> list) noexcept { return list.end(); }

template <class T> __device__ __host__ constexpr __remove_reference_t(T) && move(T&& x) noexcept {
    return static_cast<__remove_reference_t(T)&&>(x);
}
template <class T> __device__ __host__ constexpr T&& forward(__remove_reference_t(T) & x) noexcept {
    return static_cast<T&&>(x);
}
template <class T> __device__ __host__ constexpr T&& forward(__remove_reference_t(T) && x) noexcept {
    static_assert(!__is_lvalue_reference(T), "std::forward: an rvalue as an lvalue");
    return static_cast<T&&>(x);
}
} // namespace std
