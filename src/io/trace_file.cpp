// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/io/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "stretto/comm/collective.hpp"
#include "stretto/comm/messages.hpp"

namespace stretto {

void write_trace(const Comm& comm, const Trace& trace, const std::string& path) {
    const auto offset = clock_offset(comm);
    auto earliest = Clock::time_point::max();
    for (const auto& span : trace.spans()) earliest = std::min(earliest, span.begin - offset);
    const auto first = all_min(comm, Global{earliest.time_since_epoch().count()});
    const auto microseconds = [](Clock::duration duration) { return 1e6 * to_seconds(duration); };
    const auto since_first = [&](Clock::time_point time) {
        return microseconds(time - offset - Clock::time_point(Clock::duration(first)));
    };
    const int rank = comm.rank();
    // Perfetto takes 0 for the idle thread and a thread numbered as its process for the main one.
    constexpr int tracks_of_a_rank = 1000;
    const auto thread = [&](int track) { return Global{rank + 1} * tracks_of_a_rank + track; };
    int last_track = Trace::reductions, last_thread = -1;
    std::string text;
    for (const auto& [name, track, begin, end, cost] : trace.spans()) {
        (track < Trace::tasks ? last_track : last_thread) =
            track < Trace::tasks ? std::max(last_track, track) : std::max(last_thread, track - Trace::tasks);
        const auto moved = cost.group ? fmt::format(R"(,"args":{{"reads":{},"writes":{},"dots":{}}})", cost.reads,
                                                    cost.writes, cost.dots)
                                      : "";
        text += fmt::format(R"({{"name":"{}","ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}{}}},)"
                            "\n",
                            name, rank, thread(track), since_first(begin), microseconds(end - begin), moved);
    }
    const auto describe = [&](const char* what, int track, const std::string& name) {
        text += fmt::format(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}}}},)"
                            "\n",
                            what, rank, thread(track), name);
    };
    describe("process_name", 0,
             fmt::format("rank {}{}", rank,
                         trace.left_out() > 0 ? fmt::format(" ({} spans left out)", trace.left_out()) : ""));
    describe("thread_name", Trace::methods, "method");
    describe("thread_name", Trace::kernels, "kernels");
    describe("thread_name", Trace::exchanges, "halo exchange in flight");
    if (std::ranges::find(trace.spans(), Trace::device, &Trace::Span::track) != trace.spans().end()) {
        describe("thread_name", Trace::device, "device");
        describe("thread_name", Trace::copies, "copies from the device");
    }
    for (int track = Trace::reductions; track <= last_track; ++track)
        describe("thread_name", track, "reduction in flight");
    for (int t = 0; t <= last_thread; ++t)
        describe("thread_name", Trace::tasks + t, fmt::format("tasks, thread {}", t));

    // One rank after the other: the whole may be larger than rank 0 has memory for.
    constexpr int tag = 14;
    std::ofstream file;
    const auto put = [&](const std::string& part) { file << part; };
    agree(comm, [&] {
        if (rank != 0) return;
        file.open(path);
        if (!file) throw InputError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
        file << "{\"traceEvents\":[\n";
        put(text);
    });
    for (int from = 1; from < comm.size(); ++from) {
        if (rank == from) send_text(comm, text, 0, tag);
        if (rank == 0) put(receive_text(comm, from, tag));
    }
    agree(comm, [&] {
        if (rank != 0) return;
        // The comma behind the last span needs one more entry.
        file << R"({"name":"stretto","ph":"M","pid":0,"tid":0,"args":{}}]})" << "\n";
        if (!file.flush()) throw InputError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
    });
}

}  // namespace stretto
