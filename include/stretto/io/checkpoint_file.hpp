// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>

#include "stretto/comm/comm.hpp"
#include "stretto/convergence/checkpoint.hpp"
#include "stretto/core/types.hpp"

namespace stretto {

/// FILE[,every=10min]: seconds (s), minutes, hours (h) or iterations (it, or nothing) from one snapshot to the next.
struct CheckpointSpec {
    std::string path;
    double seconds = 600;
    int iterations = 0;
};
/// Throws InputError.
CheckpointSpec parse_checkpoint(const std::string& text);

/// Snapshots in a file, each in the place of the one before: written beside it, synchronised, then moved there, so that
/// whatever happens there is a whole one. Rank 0 alone writes and reads; rows are in the order of all ranks', so that
/// any number of ranks may go on.
class CheckpointFile final : public Checkpoint {
public:
    /// `comm` must outlive it. `asked`: as of parse_checkpoint; empty: nothing is kept.
    CheckpointFile(const Comm& comm, const std::string& asked);

    std::string save(const Snapshot& snapshot) override;

    const std::string& path() const { return path_; }
    int saved() const { return saved_; }      ///< snapshots
    double took() const { return seconds_; }  ///< seconds on this rank, of all of them

private:
    const Comm& comm_;
    std::string path_;
    int saved_ = 0;
    double seconds_ = 0;
};

/// Collective. Reads a snapshot for so many rows of this rank. Throws InputError, on every rank alike, where the file
/// cannot be read, is not whole, or is of another number of rows.
Snapshot read_checkpoint(const Comm& comm, const std::string& path, Index rows);
/// The same without vectors and scalars.
Snapshot read_checkpoint_header(const Comm& comm, const std::string& path);

}  // namespace stretto
