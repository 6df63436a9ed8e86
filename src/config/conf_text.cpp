#include "config/conf_text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/text.h"

namespace twinyard::config {

namespace {

/// Cuts at the first '#' that has no backslash before it, and takes that backslash away.
std::string without_comment(std::string_view line) {
    std::string out;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '#') {
            out += line[++i];
        } else if (line[i] == '#') {
            break;
        } else {
            out += line[i];
        }
    }
    return out;
}

/// Takes a backslash off the end; true if there was one.
bool take_continuation(std::string& line) {
    while (!line.empty() && is_space(line.back()))
        line.pop_back();
    if (line.empty() || line.back() != '\\') return false;
    line.pop_back();
    return true;
}

bool is_key_char(char c) {
    return is_digit(c) || c == '_' || c == '.' || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
}

/// Takes one Key=value off the front.
Result<Pair> take_pair(std::string_view& rest) {
    const std::string_view all = rest;
    const auto bad = [&](std::string_view why) {
        return fail(ErrorCode::InvalidArgument,
                    "'" + printable(all, 60) + "': " + std::string(why));
    };
    std::size_t at = 0;
    while (at < all.size() && is_key_char(all[at]))
        ++at;
    Pair pair{std::string(all.substr(0, at)), {}, 0};
    if (pair.key.empty()) return bad("a keyword is expected here");
    while (at < all.size() && is_space(all[at]))
        ++at;
    constexpr std::string_view kOps = "+-*/";
    if (at + 1 < all.size() && all[at + 1] == '=' && kOps.find(all[at]) != std::string_view::npos) {
        pair.op = all[at++];
    }
    if (at == all.size() || all[at] != '=') return bad("'=' is expected after the keyword");
    ++at;
    while (at < all.size() && is_space(all[at]))
        ++at;
    if (at < all.size() && all[at] == '"') {
        const std::size_t end = all.find('"', at + 1);
        if (end == std::string_view::npos) return bad("the closing '\"' is missing");
        pair.value = all.substr(at + 1, end - at - 1);
        at = end + 1;
        if (at < all.size() && !is_space(all[at])) return bad("a blank is expected after the '\"'");
    } else {
        const std::size_t start = at;
        while (at < all.size() && !is_space(all[at]))
            ++at;
        pair.value = all.substr(start, at - start);
        if (pair.value.empty()) return bad("a value is missing after '='");
    }
    rest = trim(all.substr(at));
    return pair;
}

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

class Reader {
  public:
    Reader(const FileLoader& loader, Findings& findings) : loader_(loader), findings_(findings) {}

    void read(std::string_view text, const std::string& name) {
        if (!check_size(text, name)) return;
        open_.push_back(name);
        std::string logical;
        std::size_t first = 0;
        std::size_t number = 0;
        while (!text.empty()) {
            const std::size_t end = text.find('\n');
            std::string line = without_comment(text.substr(0, end));
            text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
            ++number;
            if (logical.empty()) first = number;
            const bool goes_on = take_continuation(line) && !text.empty();
            // What is cut off here is over the limit anyway: take_line() sees that there was more.
            logical.append(line, 0, kLineBytesMax + 1 - logical.size());
            if (goes_on) continue;
            take_line(trim(logical), {name, first, {}});
            logical.clear();
        }
        open_.pop_back();
    }

    std::vector<ConfLine> take() { return std::move(lines_); }

  private:
    void error(const ConfLine& at, std::string text) {
        findings_.add({at.file, at.line, Severity::Error, std::move(text)});
    }

    bool check_size(std::string_view text, const std::string& name) {
        total_ += text.size();
        if (text.size() > kFileBytesMax) {
            error({name, 0, {}}, "the file is larger than 16 MB");
            return false;
        }
        if (total_ > kTotalBytesMax) {
            error({name, 0, {}}, "all files together are larger than 64 MB");
            return false;
        }
        return true;
    }

    void take_line(std::string_view text, ConfLine line) {
        if (text.empty()) return;
        if (text.size() > kLineBytesMax) return error(line, "the line is longer than 1 MB");
        constexpr std::string_view kInclude = "include";
        if (starts_with_nocase(text, kInclude) && text.size() > kInclude.size() &&
            is_space(text[kInclude.size()])) {
            const std::string_view target = trim(text.substr(kInclude.size()));
            if (!target.starts_with('=')) return include(target, line);
        }
        while (!text.empty()) {
            Result<Pair> pair = take_pair(text);
            if (!pair) {
                error(line, pair.error().message());
                break;
            }
            if (equal_nocase(pair->key, "ClusterName")) cluster_name_ = to_lower(pair->value);
            line.pairs.push_back(*std::move(pair));
        }
        if (!line.pairs.empty()) lines_.push_back(std::move(line));
    }

    void include(std::string_view target, const ConfLine& at) {
        // As in Slurm: "%c" is the cluster's name as known so far, a relative path starts at the
        // main file.
        std::string path(target);
        const std::size_t modifier = path.find("%c");
        if (modifier != std::string::npos) path.replace(modifier, 2, cluster_name_);
        if (path.front() != '/') path.insert(0, directory_of(open_.front()));
        const std::string shown = printable(target, 200);
        if (std::ranges::find(open_, path) != open_.end()) {
            return error(at, "Include " + shown + ": the file includes itself");
        }
        if (open_.size() > kIncludeDepthMax) {
            return error(at, "Include " + shown + ": more than 10 files deep");
        }
        if (total_ > kTotalBytesMax) return;
        const Result<std::string> text = loader_(path);
        if (!text) return error(at, "Include " + shown + ": " + text.error().message());
        read(*text, path);
    }

    const FileLoader& loader_;
    Findings& findings_;
    std::vector<std::string> open_;
    std::vector<ConfLine> lines_;
    std::string cluster_name_;
    std::size_t total_ = 0;
};

}  // namespace

Result<std::string> read_file(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                               &std::fclose);
    if (file == nullptr) {
        const ErrorCode code = errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Denied;
        return fail(code, std::string("cannot be read: ") + std::strerror(errno));
    }
    std::string text;
    std::string chunk(65536, '\0');
    for (;;) {
        const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), file.get());
        if (got == 0) break;
        text.append(chunk, 0, got);
        if (text.size() > kFileBytesMax) {
            return fail(ErrorCode::InvalidArgument, "the file is larger than 16 MB");
        }
    }
    if (std::ferror(file.get()) != 0) {
        return fail(ErrorCode::Denied, std::string("cannot be read: ") + std::strerror(errno));
    }
    return text;
}

std::vector<ConfLine> read_lines(std::string_view text,
                                 const std::string& name,
                                 const FileLoader& loader,
                                 Findings& findings) {
    Reader reader(loader, findings);
    reader.read(text, name);
    return reader.take();
}

}  // namespace twinyard::config
