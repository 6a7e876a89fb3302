// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "stretto/core/types.hpp"
#include "stretto/execute/executor_for.hpp"
#include "stretto/statements/scalar_traits.hpp"

// What a block of threads on a device runs is compiled for that device. A host that calls it anyway is not told so by
// nvcc where templates are: its program ends there. What both call is for both.
#ifdef __CUDACC__
#define STRETTO_KERNEL __device__ __forceinline__
#define STRETTO_KERNEL_AND_HOST __host__ __device__ __forceinline__
#define STRETTO_UNROLL _Pragma("unroll")
#define STRETTO_UNROLL_BY_4 _Pragma("unroll 4")
#else
#define STRETTO_KERNEL inline
#define STRETTO_KERNEL_AND_HOST inline
#define STRETTO_UNROLL
#define STRETTO_UNROLL_BY_4
#endif

namespace stretto {

/// A value in the memory of a device D (emulated.hpp, cuda.hpp): the host may hold its address and never looks at it.
/// Vectors of it are what methods run on, on that device.
template <class X, class D>
    requires std::is_trivially_copyable_v<X>
class OnDevice {
public:
    using Device = D;

private:
    OnDevice() = default;
    X value_;
};

template <class X, class D>
struct NumberOf<OnDevice<X, D>> {
    using type = X;
};
template <class X, class D>
struct ScalarTraits<OnDevice<X, D>> : ScalarTraits<X> {};

template <class X, class D>
class DeviceExecutor;
template <class X, class D>
struct ExecutorOf<OnDevice<X, D>> {
    using type = DeviceExecutor<X, D>;
};

/// Owns room for `size` values of X in the memory of D, unwritten. Starts, and ends, on a boundary of 16 bytes: two
/// neighbouring values travel together. Move-only. Throws std::bad_alloc.
template <class X, class D>
class DeviceArray {
public:
    DeviceArray() = default;
    explicit DeviceArray(std::size_t size)
        : size_(size),
          data_(size == 0 ? nullptr : static_cast<OnDevice<X, D>*>(D::allocate(round_up(size * sizeof(X), unit)))) {}
    /// With a copy of `values`, anything with data() and size().
    template <class Values>
        requires requires(const Values& v) { v.data() + v.size(); }
    explicit DeviceArray(const Values& values) : DeviceArray(values.size()) {
        if (size_ > 0) D::upload(data_, values.data(), size_ * sizeof(X));
    }
    DeviceArray(DeviceArray&& other) noexcept
        : size_(std::exchange(other.size_, 0)), data_(std::exchange(other.data_, nullptr)) {}
    DeviceArray& operator=(DeviceArray&& other) noexcept {
        std::swap(size_, other.size_);
        std::swap(data_, other.data_);
        return *this;
    }
    ~DeviceArray() {
        if (data_) D::release(data_);
    }

    OnDevice<X, D>* data() const { return data_; }
    std::size_t size() const { return size_; }

private:
    static constexpr std::size_t unit = 16;
    std::size_t size_ = 0;
    OnDevice<X, D>* data_ = nullptr;
};

/// Owns room on the host for `size` values of X, unwritten, which D copies from and to while kernels run. Move-only.
/// Throws std::bad_alloc.
template <class X, class D>
class PinnedArray {
public:
    PinnedArray() = default;
    explicit PinnedArray(std::size_t size)
        : size_(size), data_(size == 0 ? nullptr : static_cast<X*>(D::allocate_pinned(size * sizeof(X)))) {}
    PinnedArray(PinnedArray&& other) noexcept
        : size_(std::exchange(other.size_, 0)), data_(std::exchange(other.data_, nullptr)) {}
    PinnedArray& operator=(PinnedArray&& other) noexcept {
        std::swap(size_, other.size_);
        std::swap(data_, other.data_);
        return *this;
    }
    ~PinnedArray() {
        if (data_) D::release_pinned(data_);
    }

    X* data() const { return data_; }
    std::size_t size() const { return size_; }
    std::span<X> values() const { return {data_, size_}; }

private:
    std::size_t size_ = 0;
    X* data_ = nullptr;
};

/// Dot products that a group may ask for at once, in a loop that is one kernel.
inline constexpr int most_dots_of_loops = 16;

/// What a device did when, by the clock of the host: a kernel, or a copy beside kernels.
struct DeviceSpan {
    std::string_view name;
    bool copy;
    Clock::time_point begin, end;
};
/// What traces call a kernel: its `name`, where it has one.
template <class Kernel>
constexpr std::string_view kernel_name() {
    if constexpr (requires { Kernel::name; })
        return Kernel::name;
    else
        return "kernel";
}

/// Which of the devices that a process has a thread of the host speaks to: the number-th of so many.
struct DevicePlace {
    int number = 0, of = 1;
};
/// This thread speaks to that device until the end of the scope.
template <class D>
class [[nodiscard]] OnDeviceOf {
public:
    explicit OnDeviceOf(DevicePlace place) : before_(D::place()) { D::use(place); }
    OnDeviceOf(const OnDeviceOf&) = delete;
    ~OnDeviceOf() { D::use(before_); }

private:
    DevicePlace before_;
};

/// How a kernel is launched: so many blocks of so many threads, with so many bytes that a block shares.
struct Launch {
    int blocks, threads;
    std::size_t shared = 0;
};

// A kernel is a struct of values and of addresses on a device D, whose call(block) is what a block of threads does. It
// is written once; where that matters, it says how many blocks a multiprocessor should have (`blocks_together`). D
// says what a block is:
//
//   index(), blocks()        which block it is, of how many
//   threads()                how many threads it has
//   each(f)                  f(t) by every thread, then a barrier
//   each_apart(f)            the same without the barrier: neither f nor the next each() writes shared memory
//   shared<X>(byte, n)       n values that the block shares, from that byte on, unwritten at first
//   at(p)                    the value at an address of the device
//   copy_pair(to, p)         starts to copy two neighbouring values from p to shared memory of this thread alone;
//   end_copies()             those since the last one travel together …
//   wait_copies(ahead)       … and are there now, but for the last `ahead` (0 or 1) of them
//   load_pair(p, to), store_pair(p, from)    two neighbouring values from p, or to p
//   PerThread<S>             what each thread keeps from one each() to the next
//   share_sums(kept, low)    adds up the n = 1, 2, 4, … numbers kept[t].of of the lanes of a warp that are equal
//                            modulo low(t) = 1, 2, 4, …, the same for the whole warp, in a fixed order; lane k · low +
//                            i has of the sums those from k · n · low / 32 on, rounded down, n · low / 32 of them, or
//                            one
//   Product                  a sum s(i, n), i, n = 0 … 7, of products of small matrices by a warp; {}: zeros
//   operand(value)           row k = t mod 4 of a factor b, the same for all lanes of that k: value(n), n = 0 … 7
//   add_products(s, a, c, b) adds Σ a(i, k) b(k, n) to s[0], Σ c(i, k) b(k, n) to s[1]: lane 4 i + k gives a(i, k) and
//                            c(i, k), all lanes of a warp at once
//   end_products(kept)       kept[t], of nothing but Product: lane 4 i + k then has of s those of columns 2 k and
//                            2 k + 1 of row i in s.of[0] and s.of[1]
//   last_of(counter, n)      whether n blocks have come so far, this one as the last: it sees what they wrote. The
//                            counter, zero at first, is zero again then
//   tell(p, value)           a thread writes to pinned memory …
//   raise(p, turn)           … and the block says there, behind all that it told, that it has
//
// and, where all blocks of the grid run together and every thread says the whole of what the grid does,
//
//   first(), apart()         the elements of a thread: every so many from the first on
//   add_up(sums, p)          the block's part of K sums goes to p[k · blocks() + index()]
//   meet(counter, turn)      a barrier of all blocks, the turn-th one; the counter was zero when the kernel began
//   total(p)                 the sum of what blocks left from p on, the same bits for every thread
//   speaks()                 whether this is the one thread that tells the host
//
// A device besides has
//
//   take()                   throws InputError where there is none
//   place(), use(place)      which of the process's devices this thread speaks to: what it allocates, launches, marks
//                            and waits for is that one's. They throw nothing
//   name, title()            what it is called
//   Block                    what kernels are called with
//   most_blocks              of a kernel with sums
//   many_blocks              about as many as it runs together at most
//   most_shared              bytes of a block
//   seen(p)                  pinned memory as kernels know it
//   wait_for(raised, turn)   returns when a kernel has raised that pinned number so far
//   allocate, release        of its memory; allocate_pinned, release_pinned: of the host's, for copies beside kernels
//   upload, download         in the order of what is launched; the host may use its memory when they return
//   launch(kernel, how)
//   most_together<Kernel>()  blocks of Kernel::threads threads that run together
//   launch_together(kernel, blocks)   which are not more than these
//   on_stream(k), join()     between the two, k below most_streams, what is launched for different k has no order
//   wait()                   returns when all that was launched has run
//   Event                    a place in what was launched, taken by mark(event); event.wait() returns when it
//                            is reached
//   after(event)             what is launched next comes behind the event, of any of the process's devices
//   fetch(to, from, n)       from the memory of any of them to this one's, in the order of what is launched here
//   bring(from, to, n, event)    to pinned memory, after what was launched so far, beside what will be; event: it is
//                            there
//   send(to, from, n)        from pinned memory, in the order of what is launched, which must stay as it is until then
//   mpi_takes_addresses()    whether MPI may be given for_mpi(p) of its memory
//   record(on), recorded()   keeps spans of time; those that were kept, after wait()

}  // namespace stretto
