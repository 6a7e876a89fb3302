// SPDX-License-Identifier: BSD-3-Clause
#include "child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "stretto/core/error.hpp"

using namespace stretto;
namespace fs = std::filesystem;

namespace {

// Signal handlers can reach nothing but globals.
volatile std::sig_atomic_t received = 0, group = 0;

void on_signal(int signal) {
    received = signal;
    if (group > 0) kill(-static_cast<pid_t>(group), SIGKILL);
}

sigset_t ending_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
    return set;
}

/// A child's environment, in which temporary files go to a folder.
std::vector<std::string> environment_with(const fs::path& folder) {
    std::vector<std::string> result{"TMPDIR=" + folder.string()};
    for (char** each = environ; *each; ++each)
        if (!std::string_view(*each).starts_with("TMPDIR=")) result.emplace_back(*each);
    return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (auto& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "stretto-XXXXXX").string();
    if (error || !mkdtemp(name.data())) throw InputError("cannot make a folder for temporary files");
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

int signal_received() {
    static const bool handled = [] {
        struct sigaction action{};
        action.sa_handler = on_signal;
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
        return true;
    }();
    (void)handled;
    return received;
}

ChildProcess::ChildProcess(const std::vector<std::string>& command, const fs::path& folder, const fs::path& errors) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw InputError(fmt::format("cannot start {}", command.front()));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);

    // A signal between the start and the note of whom to end would leave the child alone.
    const sigset_t ending = ending_signals();
    sigset_t before;
    sigprocmask(SIG_BLOCK, &ending, &before);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &before);
    posix_spawnattr_setsigdefault(&attributes, &ending);
    auto words = command, environment = environment_with(folder);
    pid_t pid = 0;
    const int error = posix_spawnp(&pid, command.front().c_str(), &actions, &attributes, pointers(words).data(),
                                   pointers(environment).data());
    if (error == 0) group = pid;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
    if (error != 0) {
        std::fclose(output_);
        throw InputError(fmt::format("cannot start {}: {}", command.front(), std::strerror(error)));
    }
    running_ = true;
    if (received != 0) kill(-pid, SIGKILL);
}

ChildProcess::~ChildProcess() {
    if (running_) {
        kill(-static_cast<pid_t>(group), SIGKILL);
        (void)succeeded();
    }
    std::fclose(output_);
}

std::optional<std::string> ChildProcess::next_line() {
    char* text = nullptr;
    std::size_t capacity = 0;
    ssize_t length = 0;
    while ((length = getline(&text, &capacity, output_)) < 0 && errno == EINTR && !std::feof(output_))
        std::clearerr(output_);
    std::optional<std::string> line;
    if (length >= 0) line.emplace(text, static_cast<std::size_t>(length));
    free(text);
    return line;
}

bool ChildProcess::succeeded() {
    int status = 0;
    while (waitpid(static_cast<pid_t>(group), &status, 0) < 0 && errno == EINTR) {
    }
    kill(-static_cast<pid_t>(group), SIGKILL);  // what it left behind
    group = 0;
    running_ = false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
