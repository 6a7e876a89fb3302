// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/execute/device/cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cuda/errors.hpp"
#include "cuda/recording.hpp"
#include "stretto/comm/gpu_aware.hpp"
#include "stretto/core/error.hpp"

namespace stretto {
namespace {

/// Which of the ranks of this node this one is, by what starters of MPI programs say; 0: not known.
int rank_on_node() {
    for (const char* const name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID",
                                   "PALS_LOCAL_RANKID", "FLUX_TASK_LOCAL_ID", "JSM_NAMESPACE_LOCAL_RANK"})
        if (const char* const rank = std::getenv(name)) return std::atoi(rank);
    return 0;
}

/// Pinned places that small uploads leave from, so that they need not wait for the stream.
struct Staging {
    static constexpr std::size_t size = std::size_t{64} << 10;
    static constexpr int places = 32;
    void* data = nullptr;
    CudaDevice::Event free;
};

/// What is said to a GPU at one of a process's places.
struct Gpu {
    std::array<cudaStream_t, CudaDevice::most_streams> stream{};
    std::array<cudaEvent_t, CudaDevice::most_streams> reached{};
    std::size_t current = 0;
    bool several = false;  // since the last join()
    cudaStream_t copies = nullptr;
    std::array<Staging, Staging::places> staging;
    unsigned next = 0;  // of staging
    int peers = 1;      // so many places have been told to reach each other
};

thread_local DevicePlace here;
thread_local Gpu* spoken_to = nullptr;

/// The number of a place's GPU.
int gpu_of(DevicePlace place) {
    int devices = 0;
    must(cudaGetDeviceCount(&devices), "no GPU");
    return (rank_on_node() * place.of + place.number) % devices;
}
/// Has `device` reach the memories of the other places'.
void reach_peers(int device, DevicePlace place) {
    for (int k = 0; k < place.of; ++k) {
        const int peer = gpu_of({k, place.of});
        int reachable = 0;
        if (peer != device) must(cudaDeviceCanAccessPeer(&reachable, device, peer), "no GPU");
        if (!reachable) continue;
        const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
        if (error == cudaErrorPeerAccessAlreadyEnabled)
            (void)cudaGetLastError();
        else
            must(error, "GPUs do not reach each other");
    }
}
/// What this thread speaks to: a context is made no sooner than something is said.
Gpu& gpu() {
    if (spoken_to) return *spoken_to;
    const int device = gpu_of(here);
    must(cudaSetDevice(device), "the GPU of this rank cannot be had");
    static auto* const all = new std::map<std::pair<int, int>, Gpu>;  // vectors may outlive everything else
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    Gpu& found = (*all)[{device, here.number}];
    if (found.peers < here.of) reach_peers(device, here);
    found.peers = std::max(found.peers, here.of);
    spoken_to = &found;
    return found;
}

Recording& recording() {
    static Recording all;
    return all;
}

}  // namespace

void CudaDevice::take() {
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess || devices == 0)
        throw InputError(fmt::format("--device cuda: there is no GPU here ({}): --device cpu",
                                     error == cudaSuccess ? "none found" : cudaGetErrorString(error)));
}
DevicePlace CudaDevice::place() { return here; }
void CudaDevice::use(DevicePlace place) {
    here = place;
    spoken_to = nullptr;
}
int CudaDevice::number() {
    gpu();
    return gpu_of(here);
}

std::string CudaDevice::title() {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, gpu_of(here)), "no GPU");
    return properties.name;
}

void* CudaDevice::allocate(std::size_t bytes) {
    gpu();
    void* data = nullptr;
    const cudaError_t error = cudaMalloc(&data, bytes);
    if (error == cudaErrorMemoryAllocation) throw std::bad_alloc();
    check(error, "no memory on the GPU");
    return data;
}
void CudaDevice::release(void* data) noexcept { cudaFree(data); }
void CudaDevice::upload(void* to, const void* from, std::size_t bytes) {
    // From memory that is not pinned the driver has taken a copy when this returns, but may wait for the stream before.
    if (bytes > Staging::size) {
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream()), "nothing came to the GPU");
        return;
    }
    Staging& room = gpu().staging[gpu().next++ % Staging::places];
    room.free.wait();
    if (!room.data) room.data = allocate_pinned(Staging::size);
    std::memcpy(room.data, from, bytes);
    send(to, room.data, bytes);
    mark(room.free);
}
void CudaDevice::download(const void* from, void* to, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream()), "nothing came from the GPU");
    wait();
}
void CudaDevice::wait() {
    join();
    check(cudaStreamSynchronize(stream()), "the GPU failed");
}

void* CudaDevice::allocate_pinned(std::size_t bytes) {
    gpu();
    void* data = nullptr;
    const cudaError_t error = cudaMallocHost(&data, bytes);
    if (error == cudaErrorMemoryAllocation) throw std::bad_alloc();
    check(error, "no pinned memory");
    return data;
}
void CudaDevice::release_pinned(void* data) noexcept { cudaFreeHost(data); }

void CudaDevice::wait_for(const std::uint32_t& raised, std::uint32_t turn) {
    constexpr int looks = 1 << 12;  // before the device is asked whether it has failed
    const auto there = [&] {
        return static_cast<std::int32_t>(__atomic_load_n(&raised, __ATOMIC_ACQUIRE) - turn) >= 0;
    };
    for (int k = 0; !there(); ++k) {
        if (k < looks) continue;
        k = 0;
        const cudaError_t state = cudaStreamQuery(stream());
        if (state == cudaErrorNotReady) continue;
        check(state, "the GPU failed");
        if (!there()) throw std::logic_error("a kernel of the GPU did not say that its sums are there");
    }
}

CudaDevice::Event::~Event() {
    if (event_) cudaEventDestroy(event_);
}
void CudaDevice::Event::wait() const {
    if (!event_) return;
    check(cudaEventSynchronize(event_), "the GPU failed");
}
cudaEvent_t CudaDevice::Event::made() {
    gpu();
    if (!event_) check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "no event on the GPU");
    return event_;
}
void CudaDevice::mark(Event& event) { check(cudaEventRecord(event.made(), stream()), "no event on the GPU"); }
void CudaDevice::after(const Event& event) {
    if (event.event_) check(cudaStreamWaitEvent(stream(), event.event_), "no event on the GPU");
}
void CudaDevice::fetch(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream()), "nothing came from a GPU");
}
void CudaDevice::bring(const void* from, void* to, std::size_t bytes, Event& there) {
    mark(there);
    check(cudaStreamWaitEvent(copies(), there.made()), "the copies' stream does not wait");
    begin_span("to the host", true);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, copies()), "nothing came from the GPU");
    end_span();
    check(cudaEventRecord(there.made(), copies()), "no event on the GPU");
}
void CudaDevice::send(void* to, const void* from, std::size_t bytes) {
    begin_span("to the device", false);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream()), "nothing came to the GPU");
    end_span();
}
bool CudaDevice::mpi_takes_addresses() {
    static const bool takes = mpi_takes_device_addresses(true);
    return takes;
}

void CudaDevice::record(bool on) {
    recording().clear();
    if (on == recording().on()) return;
    wait();
    recording().on(on ? stream() : nullptr);
}
std::vector<DeviceSpan> CudaDevice::recorded() {
    wait();
    check(cudaStreamSynchronize(copies()), "the GPU failed");
    return recording().take();
}
void CudaDevice::begin_span(std::string_view name, bool copy) {
    if (here.number == 0 && recording().on()) recording().begin(name, copy, copy ? copies() : stream());
}
void CudaDevice::end_span() {
    if (here.number == 0 && recording().on()) recording().end();
}

cudaStream_t CudaDevice::stream() {
    cudaStream_t& one = gpu().stream[gpu().current];
    if (!one) one = made_stream();
    return one;
}
void CudaDevice::on_stream(int k) {
    auto& all = gpu();
    if (!all.several) {  // the others begin behind what was said before
        const cudaStream_t first = stream();
        all.several = true;
        if (!all.reached[0]) check(cudaEventCreateWithFlags(&all.reached[0], cudaEventDisableTiming), "no event");
        check(cudaEventRecord(all.reached[0], first), "no event on the GPU");
        for (all.current = 1; all.current < all.stream.size(); ++all.current)
            check(cudaStreamWaitEvent(stream(), all.reached[0]), "no event on the GPU");
    }
    all.current = static_cast<std::size_t>(k);
}
void CudaDevice::join() {
    auto& all = gpu();
    all.current = 0;
    if (!all.several) return;
    all.several = false;
    for (std::size_t k = 1; k < all.stream.size(); ++k) {
        if (!all.reached[k]) check(cudaEventCreateWithFlags(&all.reached[k], cudaEventDisableTiming), "no event");
        check(cudaEventRecord(all.reached[k], all.stream[k]), "no event on the GPU");
        check(cudaStreamWaitEvent(all.stream[0], all.reached[k]), "no event on the GPU");
    }
}
cudaStream_t CudaDevice::copies() {
    if (!gpu().copies) gpu().copies = made_stream();
    return gpu().copies;
}
void CudaDevice::check(cudaError_t error, const char* doing) { must(error, doing); }
void CudaDevice::allow_shared(const void* kernel, std::size_t bytes) {
    gpu();
    constexpr std::size_t always = std::size_t{47} << 10;  // 48, less what blocks need besides
    if (bytes > always)
        check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
              "a kernel asks for more shared memory than this GPU has");
}

}  // namespace stretto
