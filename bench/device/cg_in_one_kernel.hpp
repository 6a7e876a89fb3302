// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// CG as one kernel that stays for the whole solve, its scalars on the device (Zhang et al., PERKS; Collom et al., aCG):
// what a launch for every group, and the way of its sums over the host, cost beside it.

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "../timing.hpp"
#include "stretto/execute/device/cuda.hpp"
#include "stretto/io/problem.hpp"

namespace stretto {

/// Rows of equal length, the k-th entries of all rows one after the other.
struct EllRows {
    const double* values;
    const int* columns;
    int rows, length;
};

/// What all blocks share to wait for each other: a counter, and two turns of up to as many sums as there are blocks.
struct Meeting {
    unsigned* came;
    double* sums;

    /// Every thread of every block comes here before any leaves.
    __device__ void wait(unsigned& turn) const {
        __syncthreads();
        ++turn;
        if (threadIdx.x == 0) {
            unsigned seen = 0;
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(came) : "memory");
            do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(came) : "memory");
            while (seen < turn * gridDim.x);
        }
        __syncthreads();
    }

    __device__ static double of_block(double value) {
        __shared__ double of_warp[32];
        for (int far = 16; far > 0; far /= 2) value += __shfl_xor_sync(0xffffffffU, value, far);
        __syncthreads();
        if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
        __syncthreads();
        value = threadIdx.x % 32 < blockDim.x / 32 ? of_warp[threadIdx.x % 32] : 0;
        for (int far = 16; far > 0; far /= 2) value += __shfl_xor_sync(0xffffffffU, value, far);
        return value;
    }

    /// The sum over all threads of all blocks, in a fixed order.
    __device__ double sum(double value, unsigned& turn) const {
        double* const here = sums + turn % 2 * gridDim.x;
        value = of_block(value);
        if (threadIdx.x == 0) here[blockIdx.x] = value;
        wait(turn);
        value = 0;
        for (unsigned k = threadIdx.x; k < gridDim.x; k += blockDim.x) value += here[k];
        return of_block(value);
    }
};

/// b is all ones, x zero at first; r·r in the end.
__global__ void __launch_bounds__(1024) cg_in_one_kernel(EllRows A, double* x, double* r, double* p, double* s,
                                                         Meeting meeting, int iterations, double* left) {
    const int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
              step = static_cast<int>(gridDim.x * blockDim.x);
    unsigned turn = 0;
    double rr = 0;
    for (int i = first; i < A.rows; i += step) {
        x[i] = 0;
        r[i] = p[i] = 1;
        rr += 1;
    }
    rr = meeting.sum(rr, turn);
    for (int k = 0; k < iterations; ++k) {
        double ps = 0;
        for (int i = first; i < A.rows; i += step) {
            double sum = 0;
            for (int e = 0; e < A.length; ++e) {
                const std::int64_t at = static_cast<std::int64_t>(e) * A.rows + i;
                sum += A.values[at] * p[A.columns[at]];
            }
            s[i] = sum;
            ps += p[i] * sum;
        }
        const double alpha = rr / meeting.sum(ps, turn), before = rr;
        rr = 0;
        for (int i = first; i < A.rows; i += step) {
            x[i] += alpha * p[i];
            const double residual = r[i] - alpha * s[i];
            r[i] = residual;
            rr += residual * residual;
        }
        rr = meeting.sum(rr, turn);
        for (int i = first; i < A.rows; i += step) p[i] = r[i] + rr / before * p[i];
        meeting.wait(turn);
    }
    if (first == 0) *left = rr;
}

/// The seconds of an iteration, of so many. Throws where it is not CG: the residual of x is not the one it has by
/// recurrence.
inline double one_kernel_cg(const LocalRows<double>& rows, int iterations) {
    const auto n = static_cast<std::size_t>(rows.rows());
    std::size_t length = 0;
    for (std::size_t i = 0; i < n; ++i)
        length = std::max(length, static_cast<std::size_t>(rows.start[i + 1] - rows.start[i]));
    std::vector<double> values(n * length);
    std::vector<int> columns(n * length);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t e = 0; e < length; ++e) {
            const auto at = static_cast<std::size_t>(rows.start[i]) + e;
            const bool there = at < static_cast<std::size_t>(rows.start[i + 1]);
            values[e * n + i] = there ? rows.values[at] : 0;
            columns[e * n + i] = there ? static_cast<int>(rows.columns[at]) : static_cast<int>(i);
        }
    const DeviceArray<double, CudaDevice> on_device_values(values), vectors(std::vector<double>(4 * n + 1));
    const DeviceArray<int, CudaDevice> on_device_columns(columns);
    int multiprocessors = 0, blocks_each = 0;
    constexpr int threads = 1024;
    if (cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, cg_in_one_kernel, threads, 0) != cudaSuccess)
        throw std::runtime_error("the GPU does not say how many blocks it runs together");
    const auto blocks = std::min(static_cast<unsigned>(multiprocessors * blocks_each),
                                 static_cast<unsigned>((n + threads - 1) / threads));
    const DeviceArray<double, CudaDevice> sums(std::vector<double>(2 * blocks));
    const DeviceArray<unsigned, CudaDevice> came(std::vector<unsigned>{0U});
    const auto raw = [](const auto& array) {
        return const_cast<double*>(reinterpret_cast<const double*>(array.data()));
    };
    EllRows A{raw(on_device_values), reinterpret_cast<const int*>(on_device_columns.data()), static_cast<int>(n),
              static_cast<int>(length)};
    Meeting meeting{const_cast<unsigned*>(reinterpret_cast<const unsigned*>(came.data())), raw(sums)};
    double *x = raw(vectors), *r = x + n, *p = r + n, *s = p + n, *left = s + n;
    void* arguments[] = {&A, &x, &r, &p, &s, &meeting, &iterations, &left};
    const double time = seconds([&] {
        if (cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(cg_in_one_kernel), blocks, threads, arguments, 0,
                                        nullptr) != cudaSuccess ||
            cudaDeviceSynchronize() != cudaSuccess)
            throw std::runtime_error("the kernel that stays does not run");
    });
    std::vector<double> solution(n);
    double by_recurrence = 0, true_one = 0;
    if (cudaMemcpy(solution.data(), x, n * sizeof(double), cudaMemcpyDeviceToHost) != cudaSuccess ||
        cudaMemcpy(&by_recurrence, left, sizeof(double), cudaMemcpyDeviceToHost) != cudaSuccess)
        throw std::runtime_error("the GPU does not copy");
    for (std::size_t i = 0; i < n; ++i) {
        double residual = 1;
        for (std::size_t e = 0; e < length; ++e)
            residual -= values[e * n + i] * solution[static_cast<std::size_t>(columns[e * n + i])];
        true_one += residual * residual;
    }
    if (!(std::abs(std::sqrt(true_one) - std::sqrt(by_recurrence)) <= 1e-9 * std::sqrt(static_cast<double>(n))))
        throw std::runtime_error("the kernel that stays does not solve");
    return time / iterations;
}

}  // namespace stretto
