#include "cli/environment.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

#include "base/text.h"

namespace twinyard::cli {

namespace {

/// What Slurm propagates with PropagateResourceLimits=ALL.
constexpr auto kResources = std::to_array<int>({RLIMIT_CPU,
                                                RLIMIT_FSIZE,
                                                RLIMIT_DATA,
                                                RLIMIT_STACK,
                                                RLIMIT_CORE,
                                                RLIMIT_RSS,
                                                RLIMIT_NPROC,
                                                RLIMIT_NOFILE,
                                                RLIMIT_MEMLOCK,
                                                RLIMIT_AS});

std::vector<model::ProcessLimit> own_limits() {
    std::vector<model::ProcessLimit> limits;
    for (const int resource : kResources) {
        rlimit limit{};
        if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0)
            limits.push_back({.resource = resource, .soft = limit.rlim_cur});
    }
    return limits;
}

std::uint32_t own_umask() {
    const mode_t mask = ::umask(077);
    ::umask(mask);
    return mask;
}

std::string own_work_dir() {
    std::array<char, PATH_MAX> path{};
    return ::getcwd(path.data(), path.size()) == nullptr ? "/" : path.data();
}

std::string own_host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

std::int64_t wall_ms() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void sleep_for(Millis time) {
    timespec left{.tv_sec = time.count() / 1000, .tv_nsec = (time.count() % 1000) * 1'000'000};
    while (::nanosleep(&left, &left) < 0 && errno == EINTR) {
    }
}

/// All zero (not remembered) where the kernel has no randomness to give.
api::RequestId random_id() {
    api::RequestId id{};
    if (::getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) id = {};
    return id;
}

Result<std::string> read_whole(const std::string& path, std::size_t max) {
    const int fd = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail(ErrorCode::NotFound, path + ": " + std::strerror(errno));
    std::string text;
    std::array<char, 1 << 16> piece;
    int error = 0;
    while (text.size() <= max) {
        const ssize_t got = ::read(fd, piece.data(), piece.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) error = errno;
        if (got <= 0) break;
        text.append(piece.data(), static_cast<std::size_t>(got));
    }
    if (fd != STDIN_FILENO) ::close(fd);
    // A folder reads as empty, as for Slurm's commands.
    if (error != 0 && error != EISDIR) {
        return fail(ErrorCode::Unavailable, path + ": " + std::strerror(error));
    }
    return text;
}

std::optional<std::uint32_t> user_id_of(std::string_view name) {
    if (const auto number = parse_number<std::uint32_t>(name)) return *number;
    const passwd* entry = ::getpwnam(std::string(name).c_str());
    if (entry == nullptr) return std::nullopt;
    return entry->pw_uid;
}

std::string name_of_user(std::uint32_t uid) {
    const passwd* entry = ::getpwuid(uid);
    return entry == nullptr ? std::to_string(uid) : entry->pw_name;
}

std::string name_of_group(std::uint32_t gid) {
    const ::group* entry = ::getgrgid(gid);
    return entry == nullptr ? std::to_string(gid) : entry->gr_name;
}

}  // namespace

std::optional<std::string_view> Environment::get(std::string_view name) const {
    for (const std::string_view variable : variables) {
        if (variable.size() > name.size() && variable[name.size()] == '=' &&
            variable.starts_with(name)) {
            return variable.substr(name.size() + 1);
        }
    }
    return std::nullopt;
}

Environment Environment::of_this_process() {
    Environment environment;
    for (char** variable = environ; *variable != nullptr; ++variable)
        environment.variables.emplace_back(*variable);
    environment.uid = ::getuid();
    environment.gid = ::getgid();
    environment.umask = own_umask();
    environment.work_dir = own_work_dir();
    environment.host_name = own_host_name();
    environment.limits = own_limits();
    environment.calendar = slurm::system_calendar();
    environment.now_ms = wall_ms;
    environment.sleep = sleep_for;
    environment.new_request_id = random_id;
    environment.read_file = read_whole;
    environment.user_id = user_id_of;
    environment.user_name = name_of_user;
    environment.group_name = name_of_group;
    return environment;
}

}  // namespace twinyard::cli
