// posix_spawn with two pipes, read until both are closed.
#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/format.h"

namespace veneer::cases {
namespace {

using Clock = std::chrono::steady_clock;

// Both ends are closed in programs started later, so that a pipe ends with the program that writes to it.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
  }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_reader() { shut(ends_[0]); }
  void close_writer() { shut(ends_[1]); }

  // Appends what is there to `text`; closes the reader at the end of the stream.
  void drain(std::string& text) {
    std::array<char, 4096> buffer;
    const ssize_t count = read(reader(), buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      close_reader();
    }
  }

 private:
  static void shut(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

Result<pid_t> start(const Command& command, const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, command.folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.writer(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.writer(), STDERR_FILENO);

  std::string program = command.program.string();
  std::vector<std::string> arguments = command.arguments;
  std::vector<char*> argv{program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  pid_t child = 0;
  const int failure = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return Error{ErrorCode::kIo, concat(program, ": cannot be started: ", strerror(failure)), program};
  return child;
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

}  // namespace

Result<Outcome> run_command(const Command& command) {
  Pipe out, err;
  VENEER_TRY(child, start(command, out, err));
  out.close_writer();
  err.close_writer();

  Outcome outcome;
  bool interrupt_is_due = !command.interrupt_after.empty();
  const auto deadline = Clock::now() + command.limit;
  while (out.reader() >= 0 || err.reader() >= 0) {
    std::array<pollfd, 2> watched{{{out.reader(), POLLIN, 0}, {err.reader(), POLLIN, 0}}};  // poll passes over -1
    poll(watched.data(), watched.size(), milliseconds_until(deadline));
    if (watched[0].revents != 0) out.drain(outcome.out);
    if (watched[1].revents != 0) err.drain(outcome.err);
    if (interrupt_is_due && contains(outcome.err, command.interrupt_after)) {
      kill(child, SIGINT);
      interrupt_is_due = false;
    }
    if (Clock::now() >= deadline) {
      outcome.timed_out = true;
      kill(child, SIGKILL);
      break;
    }
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  outcome.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}

}  // namespace veneer::cases
