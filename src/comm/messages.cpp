// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/comm/messages.hpp"

#include "stretto/core/types.hpp"

namespace stretto {

void send_text(const Comm& comm, std::string_view text, int to, int tag, std::size_t largest) {
    const auto size = static_cast<Global>(text.size());
    MPI_Send(&size, 1, MPI_INT64_T, to, tag, comm.mpi());
    each_message(
        std::span(text),
        [&](std::span<const char> piece) {
            MPI_Send(piece.data(), static_cast<int>(piece.size()), MPI_CHAR, to, tag, comm.mpi());
        },
        largest);
}

std::string receive_text(const Comm& comm, int from, int tag, std::size_t largest) {
    Global size = 0;
    MPI_Recv(&size, 1, MPI_INT64_T, from, tag, comm.mpi(), MPI_STATUS_IGNORE);
    std::string text(static_cast<std::size_t>(size), '\0');
    each_message(
        std::span(text),
        [&](std::span<char> piece) {
            MPI_Recv(piece.data(), static_cast<int>(piece.size()), MPI_CHAR, from, tag, comm.mpi(), MPI_STATUS_IGNORE);
        },
        largest);
    return text;
}

}  // namespace stretto
