#include "base/result.h"

namespace twinyard {

std::string_view to_string(ErrorCode code) {
    switch (code) {
        case ErrorCode::InvalidArgument:
            return "invalid argument";
        case ErrorCode::NotFound:
            return "not found";
        case ErrorCode::Conflict:
            return "conflict";
        case ErrorCode::Denied:
            return "denied";
        case ErrorCode::Unavailable:
            return "unavailable";
        case ErrorCode::Corrupt:
            return "corrupt";
    }
    return "unknown";
}

}  // namespace twinyard
