// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// A folder that is gone when this is.
class TemporaryFolder {
public:
    TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    ~TemporaryFolder();
    std::filesystem::path operator/(const char* name) const { return path_ / name; }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// A program, with all that it starts in a process group of its own, so that no part of it outlives this. One at a
/// time.
class ChildProcess {
public:
    /// Runs in this folder; its standard error goes to a file, its temporary files into the folder. Throws
    /// stretto::InputError if it cannot be started.
    ChildProcess(const std::vector<std::string>& command, const std::filesystem::path& folder,
                 const std::filesystem::path& errors);
    ChildProcess(const ChildProcess&) = delete;
    ~ChildProcess();

    /// The next line of its standard output, none at the end.
    std::optional<std::string> next_line();
    /// Waits for its end; whether its exit code was 0.
    bool succeeded();

private:
    std::FILE* output_ = nullptr;
    bool running_ = false;
};

/// From the first call on SIGINT, SIGTERM and SIGHUP end the child process that runs. Which one came; 0: none.
int signal_received();
