// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "stretto/comm/comm.hpp"

namespace stretto {

/// Bytes of a message at most: MPI counts them in an int.
inline constexpr std::size_t largest_message = std::size_t{1} << 30;

/// Calls work(piece) for the messages that these bytes travel in, one after the other. Both sides cut alike, as they
/// know the size. Without bytes there is no message.
template <class Byte, class Work>
void each_message(std::span<Byte> bytes, Work&& work, std::size_t largest = largest_message) {
    for (std::size_t at = 0; at < bytes.size(); at += largest)
        work(bytes.subspan(at, std::min(largest, bytes.size() - at)));
}

/// Text of any length from one rank to another; blocking. The size goes first.
void send_text(const Comm& comm, std::string_view text, int to, int tag, std::size_t largest = largest_message);
std::string receive_text(const Comm& comm, int from, int tag, std::size_t largest = largest_message);

}  // namespace stretto
