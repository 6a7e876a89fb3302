// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/execute/device/emulated.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "stretto/comm/gpu_aware.hpp"

namespace stretto {
namespace {

/// The memory of the device: one file in memory, seen twice, without access where the host gets its addresses from.
class DeviceMemory {
public:
    DeviceMemory() {
        const int file = memfd_create("stretto-emulated-device", MFD_CLOEXEC);
        if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) throw std::bad_alloc();
        seen_ = map(file, PROT_NONE);
        real_ = map(file, PROT_READ | PROT_WRITE);
        close(file);
    }
    DeviceMemory(const DeviceMemory&) = delete;

    void* allocate(std::size_t bytes) {
        bytes = round_up(bytes, std::size_t{16});
        std::size_t begin = 0;
        for (const auto& [at, length] : used_) {
            if (begin + bytes + boundary <= at) break;  // what lies between two is nobody's
            begin = round_up(at + length + boundary, boundary);
        }
        if (begin + bytes > size) throw std::bad_alloc();
        used_[begin] = bytes;
        std::memset(real_ + begin, 0xff, bytes);
        return seen_ + begin;
    }
    void release(void* data) {
        const auto found = used_.find(static_cast<std::size_t>(static_cast<std::byte*>(data) - seen_));
        const std::size_t first = round_up(found->first, page), last = (found->first + found->second) / page * page;
        if (first < last) madvise(real_ + first, last - first, MADV_REMOVE);
        used_.erase(found);
        last_ = used_.end();
    }
    bool has(const void* address) const { return address >= seen_ && address < seen_ + size; }
    std::byte* find(const void* address, std::size_t bytes) {
        const std::ptrdiff_t offset = static_cast<const std::byte*>(address) - seen_;
        const auto begin = static_cast<std::size_t>(offset);
        const auto holds = [&](auto entry) {
            return entry != used_.end() && entry->first <= begin && begin + bytes <= entry->first + entry->second;
        };
        if (offset >= 0 && !holds(last_)) {
            last_ = used_.upper_bound(begin);
            last_ = last_ == used_.begin() ? used_.end() : std::prev(last_);
        }
        if (offset < 0 || !holds(last_))
            throw std::logic_error("a kernel follows an address that is not allocated on the device");
        return real_ + offset;
    }

private:
    static constexpr std::size_t size = std::size_t{1} << 38, boundary = 256, page = 4096;

    static std::byte* map(int file, int access) {
        void* const at = mmap(nullptr, size, access, MAP_SHARED | MAP_NORESERVE, file, 0);
        if (at == MAP_FAILED) throw std::bad_alloc();
        return static_cast<std::byte*>(at);
    }

    std::byte *seen_, *real_;
    std::map<std::size_t, std::size_t> used_;  // where it begins, how long it is
    std::map<std::size_t, std::size_t>::iterator last_ = used_.end();
};

/// A copy beside kernels.
struct Beside {
    long ticket;
    const void* from;
    std::byte* to;
    std::size_t bytes;
};

/// One of the devices.
struct State {
    DeviceMemory memory;
    std::deque<std::function<void()>> stream;
    std::deque<Beside> beside;
    long tickets = 0, reached = 0;  // of events that were marked, and of the last that has come
    std::array<std::vector<std::function<void()>>, EmulatedDevice::most_streams> streams;  // since the last join()
    std::size_t current = 0;
    bool several = false;  // streams, since then
    std::minstd_rand shuffle{1};
    std::exception_ptr error;  // of what ran when nobody could be told
    bool recording = false;
    std::vector<DeviceSpan> spans;
};
struct All {
    std::recursive_mutex mutex;
    std::vector<std::unique_ptr<State>> devices;
    std::map<const std::byte*, std::size_t> pinned;  // where it begins, how long it is
};
All& all() {
    static auto* const all = new All;  // vectors may outlive everything else
    return *all;
}
/// Threads take turns.
std::unique_lock<std::recursive_mutex> turn() { return std::unique_lock(all().mutex); }

thread_local DevicePlace here;
State& state() {
    auto& devices = all().devices;
    const auto k = static_cast<std::size_t>(here.number);
    if (devices.size() <= k) devices.resize(k + 1);
    if (!devices[k]) devices[k] = std::make_unique<State>();
    return *devices[k];
}
/// Does what a device does.
template <class Work>
void as_device(int number, Work&& work) {
    const DevicePlace before = std::exchange(here, DevicePlace{number, std::max(here.of, number + 1)});
    try {
        work();
    } catch (...) {
        here = before;
        throw;
    }
    here = before;
}
/// Runs what was launched on this device while there is any and `more` wants it.
template <class More>
void run_while(More&& more) {
    EmulatedDevice::join();
    auto& stream = state().stream;
    while (!stream.empty() && more()) {
        const auto step = std::move(stream.front());
        stream.pop_front();
        try {
            step();
        } catch (...) {
            stream.clear();
            throw;
        }
    }
}

/// Whether these bytes of the host are pinned.
bool is_pinned(const void* address, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(address);
    const auto& pinned = all().pinned;
    const auto after = pinned.upper_bound(begin);
    return after != pinned.begin() && begin + bytes <= std::prev(after)->first + std::prev(after)->second;
}
/// Throws std::logic_error where they are not.
void check_pinned(const void* address, std::size_t bytes) {
    if (!is_pinned(address, bytes)) throw std::logic_error("a copy beside kernels is of memory that is not pinned");
}

/// Keeps the span of what is done, where that is asked for.
template <class Work>
void recorded_as(std::string_view name, bool copy, Work&& work) {
    const auto begin = Clock::now();
    work();
    if (state().recording) state().spans.push_back({name, copy, begin, Clock::now()});
}

void run(const Launch& how, const std::function<void(EmulatedBlock&)>& kernel) {
    std::vector<int> order(static_cast<std::size_t>(how.blocks));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, state().shuffle);
    for (const int index : order) {
        EmulatedBlock block(how, index, state().shuffle() % 2 == 0);
        kernel(block);
    }
}

}  // namespace

DevicePlace EmulatedDevice::place() { return here; }
void EmulatedDevice::use(DevicePlace place) { here = place; }
void* EmulatedDevice::allocate(std::size_t bytes) {
    const auto mine = turn();
    wait();
    return state().memory.allocate(bytes);
}
void EmulatedDevice::release(void* data) noexcept {
    const auto mine = turn();
    const auto& devices = all().devices;
    const auto owner = std::ranges::find_if(devices, [&](const auto& one) { return one && one->memory.has(data); });
    as_device(static_cast<int>(owner - devices.begin()), [&] {
        try {
            wait();
        } catch (...) {
            state().error = std::current_exception();
        }
        state().memory.release(data);
    });
}
void EmulatedDevice::upload(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    const auto mine = turn();
    const auto* const begin = static_cast<const std::byte*>(from);
    state().streams[state().current].emplace_back([to, values = std::vector<std::byte>(begin, begin + bytes)] {
        std::ranges::copy(values, find(to, values.size()));
    });
}
void EmulatedDevice::download(const void* from, void* to, std::size_t bytes) {
    const auto mine = turn();
    wait();
    if (bytes > 0) std::memcpy(to, find(from, bytes), bytes);
}
void EmulatedDevice::enqueue(const Launch& how, std::string_view called, std::function<void(EmulatedBlock&)> kernel) {
    if (how.shared > most_shared) throw std::logic_error("a kernel asks for more shared memory than a block has");
    if (how.threads < 1 || how.threads > 1024 || how.blocks < 1) throw std::logic_error("no such launch");
    const auto mine = turn();
    state().streams[state().current].emplace_back(
        [how, called, kernel = std::move(kernel)] { recorded_as(called, false, [&] { run(how, kernel); }); });
}
void EmulatedDevice::on_stream(int k) {
    const auto mine = turn();
    if (!state().several) join();  // all begin behind what was said before
    state().several = true;
    state().current = static_cast<std::size_t>(k);
}
void EmulatedDevice::join() {
    const auto mine = turn();
    auto& own = state();
    own.current = 0;
    own.several = false;
    std::array<std::size_t, most_streams> done{};
    std::size_t left = 0;
    for (const auto& one : own.streams) left += one.size();
    for (; left > 0; --left) {
        std::size_t k = own.shuffle() % own.streams.size();
        while (done[k] == own.streams[k].size()) k = (k + 1) % own.streams.size();
        own.stream.push_back(std::move(own.streams[k][done[k]++]));
    }
    for (auto& one : own.streams) one.clear();
}
void EmulatedDevice::wait() {
    const auto mine = turn();
    run_while([] { return true; });
    if (state().error) std::rethrow_exception(std::exchange(state().error, nullptr));
}

void* EmulatedDevice::allocate_pinned(std::size_t bytes) {
    const auto mine = turn();
    auto* const data = static_cast<std::byte*>(::operator new(bytes));
    std::memset(data, 0xff, bytes);
    all().pinned[data] = bytes;
    return data;
}
void EmulatedDevice::release_pinned(void* data) noexcept {
    const auto mine = turn();
    all().pinned.erase(static_cast<std::byte*>(data));
    ::operator delete(data);
}
void EmulatedDevice::wait_for(const std::uint32_t& raised, std::uint32_t turn) {
    wait();
    if (static_cast<std::int32_t>(raised - turn) < 0) throw std::logic_error("no kernel said that its sums are there");
}
void EmulatedDevice::mark(Event& event) {
    const auto mine = turn();
    event.ticket_ = ++state().tickets;
    event.device_ = here.number;
    state().streams[state().current].emplace_back(
        [ticket = event.ticket_] { state().reached = std::max(state().reached, ticket); });
}
void EmulatedDevice::after(const Event& event) {
    const auto mine = turn();
    state().streams[state().current].emplace_back(
        [event] { as_device(event.device_, [&] { run_while([&] { return state().reached < event.ticket_; }); }); });
}
void EmulatedDevice::fetch(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    const auto mine = turn();
    state().streams[state().current].emplace_back([to, from, bytes] {
        for (const auto& device : all().devices)
            if (device && device->memory.has(from)) {
                std::memcpy(find(to, bytes), device->memory.find(from, bytes), bytes);
                return;
            }
        throw std::logic_error("what is fetched is in no device's memory");
    });
}
void EmulatedDevice::bring(const void* from, void* to, std::size_t bytes, Event& there) {
    const auto mine = turn();
    mark(there);
    if (bytes == 0) return;
    check_pinned(to, bytes);
    std::memset(to, 0xff, bytes);
    state().beside.push_back({there.ticket_, from, static_cast<std::byte*>(to), bytes});
}
void EmulatedDevice::send(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    const auto mine = turn();
    check_pinned(from, bytes);
    state().streams[state().current].emplace_back([to, from, bytes] {
        recorded_as("to the device", false, [&] {
            check_pinned(from, bytes);
            std::memcpy(find(to, bytes), from, bytes);
        });
    });
}
void EmulatedDevice::Event::wait() const {
    const auto mine = turn();
    as_device(device_, [&] {
        EmulatedDevice::wait();
        for (auto& beside = state().beside; !beside.empty() && beside.front().ticket <= ticket_;) {
            const auto copy = beside.front();
            beside.pop_front();
            recorded_as("to the host", true, [&] {
                check_pinned(copy.to, copy.bytes);
                std::memcpy(copy.to, find(copy.from, copy.bytes), copy.bytes);
            });
        }
    });
}
bool EmulatedDevice::mpi_takes_addresses() { return mpi_takes_device_addresses(false); }
void EmulatedDevice::record(bool on) { state().recording = on; }
std::vector<DeviceSpan> EmulatedDevice::recorded() {
    wait();
    return std::exchange(state().spans, {});
}
std::byte* EmulatedDevice::find(const void* address, std::size_t bytes) {
    if (is_pinned(address, bytes)) return static_cast<std::byte*>(const_cast<void*>(address));
    return state().memory.find(address, bytes);
}

}  // namespace stretto
