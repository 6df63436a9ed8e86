#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace twinyard {

/// What a caller can react to; everything else about an error is in its message.
enum class ErrorCode : std::uint8_t {
    InvalidArgument,
    NotFound,
    Conflict,
    Denied,
    Unavailable,
    Corrupt
};

[[nodiscard]] std::string_view to_string(ErrorCode code);

class Error {
  public:
    Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

    [[nodiscard]] ErrorCode code() const { return code_; }
    [[nodiscard]] const std::string& message() const { return message_; }

    /// Adds where we were, outermost first: "load job 42: store: timed out".
    [[nodiscard]] Error in(std::string_view where) && {
        message_.insert(0, std::string(where) + ": ");
        return std::move(*this);
    }

    friend bool operator==(const Error&, const Error&) = default;

  private:
    ErrorCode code_;
    std::string message_;
};

[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
    return std::unexpected(Error(code, std::move(message)));
}
[[nodiscard]] inline std::unexpected<Error> fail(Error error) {
    return std::unexpected(std::move(error));
}

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

/// TRY(const Job job, load(id)): returns the error to our caller, or goes on with the value.
/// A type with a comma in it needs `const auto`. TRY_STATUS(expr) is the same without a value.
#define TRY(decl, expr) TWINYARD_TRY_NAMED(TWINYARD_CONCAT(try_, __LINE__), decl, expr)
#define TRY_STATUS(expr)                                                  \
    do {                                                                  \
        auto status_ = (expr);                                            \
        if (!status_) return std::unexpected(std::move(status_).error()); \
    } while (false)
#define TWINYARD_TRY_NAMED(tmp, decl, expr)                   \
    auto tmp = (expr);                                        \
    if (!tmp) return std::unexpected(std::move(tmp).error()); \
    decl = *std::move(tmp)
#define TWINYARD_CONCAT(a, b) TWINYARD_CONCAT_INNER(a, b)
#define TWINYARD_CONCAT_INNER(a, b) a##b

}  // namespace twinyard
