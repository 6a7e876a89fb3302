// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// For NVIDIA's compiler alone.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/execute/device/on_device.hpp"
#include "stretto/execute/device/sums.hpp"

namespace stretto {

class CudaBlock;
/// A GPU: the one that this rank has of those of its node, in turn, or those. Kernels, uploads and downloads follow one
/// another in one stream, unless on_stream() says otherwise; what goes to the host beside kernels has another.
class CudaDevice {
public:
    using Block = CudaBlock;
    static constexpr std::string_view name = "cuda";
    static constexpr Index loops_up_to = 300'000;  // rows of loops that are one kernel (docs/measured/gpu.md)
    /// As many as an H100 runs together, three on each multiprocessor; the same everywhere, so that sums have the same
    /// bits.
    static constexpr int most_blocks = 396;
    static constexpr int many_blocks = 8 * 132;  // as many as it runs together where they are small
    static constexpr std::size_t most_shared = std::size_t{226} << 10, most_parameters = 32764;
    static constexpr int most_streams = 4;

    /// Takes the GPU of this rank. Throws InputError where there is none, or no driver.
    static void take();
    /// The GPUs of a node are dealt to its ranks in turn, so many to each; where there are fewer, some are had several
    /// times, with streams of their own.
    static DevicePlace place();
    static void use(DevicePlace place);
    /// The GPU's, on this node.
    static int number();
    /// What it is called.
    static std::string title();

    static void* allocate(std::size_t bytes);
    static void release(void* data) noexcept;
    /// In the order of what is launched. `from` may be used again when it returns.
    static void upload(void* to, const void* from, std::size_t bytes);
    /// After all that was launched.
    static void download(const void* from, void* to, std::size_t bytes);
    template <class Kernel>
    static void launch(const Kernel& kernel, const Launch& how);
    template <class Kernel>
    static int most_together();
    template <class Kernel>
    static void launch_together(const Kernel& kernel, int blocks);
    /// What is said from now on, until join(), is in order only with what has the same k.
    static void on_stream(int k);
    /// What follows comes after all before, whatever their streams; stream 0 again.
    static void join();
    /// Returns when all that was launched has run. Throws std::runtime_error where it could not.
    static void wait();

    static void* allocate_pinned(std::size_t bytes);
    static void release_pinned(void* data) noexcept;
    template <class X>
    static OnDevice<X, CudaDevice>* seen(X* pinned) {
        return reinterpret_cast<OnDevice<X, CudaDevice>*>(pinned);
    }
    static void wait_for(const std::uint32_t& raised, std::uint32_t turn);
    class Event {
    public:
        Event() = default;
        Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
        Event& operator=(Event&& other) noexcept {
            std::swap(event_, other.event_);
            return *this;
        }
        ~Event();
        void wait() const;

    private:
        friend CudaDevice;
        cudaEvent_t made();
        cudaEvent_t event_ = nullptr;
    };
    static void mark(Event& event);
    static void after(const Event& event);
    static void fetch(void* to, const void* from, std::size_t bytes);
    static void bring(const void* from, void* to, std::size_t bytes, Event& there);
    static void send(void* to, const void* from, std::size_t bytes);

    /// Where the MPI library says so, or the environment (gpu_aware.hpp).
    static bool mpi_takes_addresses();
    template <class X>
    static X* for_mpi(OnDevice<X, CudaDevice>* address) {
        return reinterpret_cast<X*>(address);
    }

    static void record(bool on);
    static std::vector<DeviceSpan> recorded();

private:
    static cudaStream_t stream();  // of kernels
    static cudaStream_t copies();
    static void begin_span(std::string_view name, bool copy);
    static void end_span();
    static void check(cudaError_t error, const char* doing);
    static void allow_shared(const void* kernel, std::size_t bytes);
};

/// A block of threads of a GPU (on_device.hpp).
class CudaBlock {
public:
    __device__ explicit CudaBlock(std::byte* shared) : shared_(shared) {}
    __device__ int index() const { return static_cast<int>(blockIdx.x); }
    __device__ int blocks() const { return static_cast<int>(gridDim.x); }
    __device__ int threads() const { return static_cast<int>(blockDim.x); }

    template <class Work>
    __device__ void each(Work&& work) {
        work(static_cast<int>(threadIdx.x));
        __syncthreads();
    }
    template <class Work>
    __device__ void each_apart(Work&& work) {
        work(static_cast<int>(threadIdx.x));
    }
    template <class X>
    __device__ X* shared(std::size_t byte, std::size_t) {
        return reinterpret_cast<X*>(shared_ + byte);
    }
    template <class X, class D>
    __device__ X& at(OnDevice<X, D>* p) const {
        return *reinterpret_cast<X*>(p);
    }
    template <class X, class D>
    __device__ const X& at(const OnDevice<X, D>* p) const {
        return *reinterpret_cast<const X*>(p);
    }
    template <class X, class D>
    __device__ void copy_pair(X* to, const OnDevice<X, D>* p) {
        static_assert(2 * sizeof(X) == 16);
        const auto place = static_cast<unsigned>(__cvta_generic_to_shared(to));
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(p) : "memory");
    }
    __device__ void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
    template <int ahead>
    __device__ void wait_copies() {
        asm volatile("cp.async.wait_group %0;" ::"n"(ahead) : "memory");
    }
    template <class D>
    __device__ void store_pair(OnDevice<double, D>* p, const double* from) {
        asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(p), "d"(from[0]), "d"(from[1]) : "memory");
    }

    template <class D>
    __device__ bool last_of(OnDevice<std::uint32_t, D>* counter, int blocks) {
        __shared__ bool last;
        __syncthreads();
        if (threadIdx.x == 0) {  // its fences are for what the others wrote, too
            auto* const count = reinterpret_cast<unsigned*>(counter);
            __threadfence();
            last = atomicAdd(count, 1U) == static_cast<unsigned>(blocks) - 1;
            if (last) *count = 0;
            __threadfence();
        }
        __syncthreads();
        return last;
    }
    template <class X, class D>
    __device__ void tell(OnDevice<X, D>* p, X value) {
        at(p) = value;
    }
    template <class D>
    __device__ void raise(OnDevice<std::uint32_t, D>* p, std::uint32_t turn) {
        if (threadIdx.x == 0) asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(turn) : "memory");
    }

    __device__ Index first() const { return static_cast<Index>(blockIdx.x * blockDim.x + threadIdx.x); }
    __device__ Index apart() const { return static_cast<Index>(gridDim.x * blockDim.x); }
    __device__ bool speaks() const { return blockIdx.x == 0 && threadIdx.x == 0; }
    template <int K, class D>
    __device__ void add_up(double (&sums)[K], OnDevice<double, D>* parts) {
        static_assert(K <= most_dots_of_loops);
        __shared__ double of_warps[most_dots_of_loops * 32];
        const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32,
                  warps = threads() / 32;
#pragma unroll
        for (int k = 0; k < K; ++k) sums[k] = sum_of_warp(sums[k]);
        __syncthreads();
        if (lane == 0)
#pragma unroll
            for (int k = 0; k < K; ++k) of_warps[k * 32 + warp] = sums[k];
        __syncthreads();
        for (int k = warp; k < K; k += warps) {
            const double sum = sum_of_warp(lane < warps ? of_warps[k * 32 + lane] : 0);
            if (lane == 0) at(parts + (k * blocks() + index())) = sum;
        }
    }
    template <class D>
    __device__ double total(const OnDevice<double, D>* parts) const {
        double sum = 0;
        for (int k = static_cast<int>(threadIdx.x) % 32; k < blocks(); k += 32) sum += at(parts + k);
        return sum_of_warp(sum);
    }
    template <class D>
    __device__ void meet(OnDevice<std::uint32_t, D>* arrivals, std::uint32_t turn) {
        __syncthreads();
        if (threadIdx.x == 0) {
            const std::uint32_t all = turn * gridDim.x;
            std::uint32_t come = 0;
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrivals) : "memory");
            do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(come) : "l"(arrivals) : "memory");
            while (static_cast<std::int32_t>(come - all) < 0);
        }
        __syncthreads();
    }

    template <class X, class D>
    __device__ void load_pair(const OnDevice<X, D>* p, X* to) const {
        const double2 both = *reinterpret_cast<const double2*>(p);
        to[0] = both.x;
        to[1] = both.y;
    }

    template <class S>
    class PerThread {
    public:
        __device__ explicit PerThread(const CudaBlock&) {}
        __device__ S& operator[](int) { return value_; }

    private:
        S value_;
    };
    template <class S, class Low>
    __device__ void share_sums(PerThread<S>& kept, Low&& low) {
        share<16>(kept[0].of, low(static_cast<int>(threadIdx.x)));
    }

    using Operand = double;
    struct Product {
        double of[2];
    };
    template <class Value>
    __device__ static Operand operand(Value&& value) {
        return value(static_cast<int>(threadIdx.x) % 32 / 4);
    }
    __device__ static void add_products(Product (&sums)[2], double first, double second, Operand b) {
#if __CUDA_ARCH__ >= 900
        asm volatile(
            "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+d"(sums[0].of[0]), "+d"(sums[0].of[1]), "+d"(sums[1].of[0]), "+d"(sums[1].of[1])
            : "d"(first), "d"(second), "d"(b));
#else
        add_product(sums[0], first, b);
        add_product(sums[1], second, b);
#endif
    }
    template <class S>
    __device__ static void end_products(PerThread<S>&) {}

private:
    __device__ static double sum_of_warp(double value) {
        for (int far = 16; far > 0; far /= 2) value += __shfl_xor_sync(~0U, value, far);
        return value;
    }
    __device__ static void add_product(Product& sums, double a, double b) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(sums.of[0]), "+d"(sums.of[1])
                     : "d"(a), "d"(b));
    }
    /// Of lanes that differ in `bit` each keeps the half of the sums that the other one gives it.
    template <int bit, class X, int count>
    __device__ static void share(X (&of)[count], int low) {
        if constexpr (bit > 0) {
            if (bit < low) return;
            if constexpr (count == 1) {
                of[0] += __shfl_xor_sync(~0U, of[0], bit);
                share<bit / 2>(of, low);
            } else {
                const bool upper = threadIdx.x & bit;
                X half[count / 2];
#pragma unroll
                for (int k = 0; k < count / 2; ++k) {
                    const X given = upper ? of[k] : of[count / 2 + k];
                    half[k] = (upper ? of[count / 2 + k] : of[k]) + __shfl_xor_sync(~0U, given, bit);
                }
                share<bit / 2>(half, low);
#pragma unroll
                for (int k = 0; k < count / 2; ++k) of[k] = half[k];
            }
        }
    }

    std::byte* shared_;
};

/// Blocks of a kernel that a multiprocessor should be able to run together: Kernel::blocks_together, or one.
template <class Kernel>
constexpr int blocks_together_of() {
    if constexpr (requires { Kernel::blocks_together; })
        return Kernel::blocks_together;
    else
        return 1;
}
template <class Kernel>
__global__ void __launch_bounds__(most_threads, blocks_together_of<Kernel>())
    run_kernel(const __grid_constant__ Kernel kernel) {
    extern __shared__ __align__(16) std::byte shared_by_block[];
    CudaBlock block(shared_by_block);
    kernel(block);
}

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, 1) run_together(const __grid_constant__ Kernel kernel) {
    CudaBlock block(nullptr);
    kernel(block);
}

template <class Kernel>
int CudaDevice::most_together() {
    int multiprocessors = 0, of_each = 0;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, number()), "no GPU");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_each, run_together<Kernel>, Kernel::threads, 0),
          "the GPU does not say how many blocks it runs together");
    return multiprocessors * of_each;
}
template <class Kernel>
void CudaDevice::launch_together(const Kernel& kernel, int blocks) {
    static_assert(sizeof(Kernel) <= most_parameters);
    void* parameters[] = {const_cast<Kernel*>(&kernel)};
    begin_span(kernel_name<Kernel>(), false);
    check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(run_together<Kernel>), blocks, Kernel::threads,
                                      parameters, 0, stream()),
          "a kernel was not launched");
    end_span();
}

template <class Kernel>
void CudaDevice::launch(const Kernel& kernel, const Launch& how) {
    static_assert(sizeof(Kernel) <= most_parameters);
    const void* const code = reinterpret_cast<const void*>(run_kernel<Kernel>);
    allow_shared(code, how.shared);
    begin_span(kernel_name<Kernel>(), false);
    run_kernel<Kernel><<<how.blocks, how.threads, how.shared, stream()>>>(kernel);
    check(cudaGetLastError(), "a kernel was not launched");
    end_span();
}

using on_cuda = OnDevice<double, CudaDevice>;

}  // namespace stretto
