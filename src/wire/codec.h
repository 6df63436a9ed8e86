#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/id.h"
#include "base/result.h"

/// Protobuf's wire format straight from and to our own structs: one field table a struct instead of
/// a .proto file, a generated class and a converter each way (decision 0005). Included by the
/// tables' .cpp files only.
///
/// Rules of the format: a field is left out when it is zero and zero is the struct's own default;
/// signed numbers are zigzag (sint64), unsigned and enums varint, double fixed64; text, hashes and
/// messages are length-delimited; lists of numbers are packed; an optional is there when it is set.
/// Unknown fields are skipped. Numbers are never used again.
namespace twinyard::wire {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

template <class Owner, class Member>
struct Field {
    std::uint32_t number;
    const char* name;
    Member Owner::*member;
};

/// Specialised for each message: `static constexpr const char* name` and `static constexpr auto
/// list()` → tuple of Field.
template <class T>
struct Fields;

template <class T, class = void>
struct IsMessage : std::false_type {};
template <class T>
struct IsMessage<T, std::void_t<decltype(Fields<T>::list())>> : std::true_type {};

template <class T, template <class...> class Of>
struct IsA : std::false_type {};
template <template <class...> class Of, class... Args>
struct IsA<Of<Args...>, Of> : std::true_type {};

template <class T>
struct IsId : std::false_type {};
template <class Tag, class Rep>
struct IsId<Id<Tag, Rep>> : std::true_type {};

template <class T>
struct IsTime : std::false_type {};
template <class Rep, class Period>
struct IsTime<std::chrono::duration<Rep, Period>> : std::true_type {};
template <class Clock, class Duration>
struct IsTime<std::chrono::time_point<Clock, Duration>> : std::true_type {};

template <class T>
inline constexpr bool kIsNumber =
    std::is_integral_v<T> || std::is_enum_v<T> || IsId<T>::value || IsTime<T>::value;

using Bytes16 = std::array<std::uint8_t, 16>;

// ---- numbers
// -------------------------------------------------------------------------------------------------------

template <class T>
std::uint64_t to_varint(const T& value) {
    if constexpr (IsId<T>::value) {
        return value.value();
    } else if constexpr (std::is_enum_v<T>) {
        return static_cast<std::uint64_t>(value);
    } else if constexpr (IsTime<T>::value) {
        if constexpr (IsA<T, std::chrono::duration>::value) {
            return WireFormatLite::ZigZagEncode64(value.count());
        } else {
            return WireFormatLite::ZigZagEncode64(value.time_since_epoch().count());
        }
    } else if constexpr (std::is_signed_v<T> && !std::is_same_v<T, bool>) {
        return WireFormatLite::ZigZagEncode64(static_cast<std::int64_t>(value));
    } else {
        return static_cast<std::uint64_t>(value);
    }
}

template <class T>
T from_varint(std::uint64_t raw) {
    if constexpr (IsId<T>::value) {
        return T(static_cast<typename T::rep>(raw));
    } else if constexpr (IsTime<T>::value) {
        using Rep = typename T::rep;
        const auto count = static_cast<Rep>(WireFormatLite::ZigZagDecode64(raw));
        if constexpr (IsA<T, std::chrono::duration>::value) {
            return T(count);
        } else {
            return T(typename T::duration(count));
        }
    } else if constexpr (std::is_signed_v<T> && !std::is_same_v<T, bool>) {
        return static_cast<T>(WireFormatLite::ZigZagDecode64(raw));
    } else {
        return static_cast<T>(raw);
    }
}

// ---- writing
// -------------------------------------------------------------------------------------------------------

inline void put_varint(std::uint64_t value, std::string& out) {
    std::array<std::uint8_t, 10> buffer;
    const std::uint8_t* end = CodedOutputStream::WriteVarint64ToArray(value, buffer.data());
    out.append(reinterpret_cast<const char*>(buffer.data()),
               static_cast<std::size_t>(end - buffer.data()));
}

inline void put_tag(std::uint32_t number, WireFormatLite::WireType type, std::string& out) {
    put_varint(WireFormatLite::MakeTag(static_cast<int>(number), type), out);
}

inline void put_bytes(std::uint32_t number, std::string_view bytes, std::string& out) {
    put_tag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED, out);
    put_varint(bytes.size(), out);
    out.append(bytes);
}

/// Runs `body`, which appends, and puts the length of what it appended before it.
template <class Body>
void put_delimited(std::uint32_t number, std::string& out, Body&& body) {
    put_tag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED, out);
    const std::size_t at = out.size();
    out.push_back('\0');
    body();
    std::string length;
    put_varint(out.size() - at - 1, length);
    out.replace(at, 1, length);
}

template <class T>
void put_message(const T& value, std::string& out);

template <class T>
void put_value(std::uint32_t number, const T& value, std::string& out) {
    if constexpr (kIsNumber<T>) {
        put_tag(number, WireFormatLite::WIRETYPE_VARINT, out);
        put_varint(to_varint(value), out);
    } else if constexpr (std::is_same_v<T, double>) {
        put_tag(number, WireFormatLite::WIRETYPE_FIXED64, out);
        std::array<std::uint8_t, 8> raw;
        CodedOutputStream::WriteLittleEndian64ToArray(WireFormatLite::EncodeDouble(value),
                                                      raw.data());
        out.append(reinterpret_cast<const char*>(raw.data()), raw.size());
    } else if constexpr (std::is_same_v<T, std::string>) {
        put_bytes(number, value, out);
    } else if constexpr (std::is_same_v<T, Bytes16>) {
        put_bytes(number, {reinterpret_cast<const char*>(value.data()), value.size()}, out);
    } else if constexpr (std::is_same_v<T, ContentHash>) {
        put_bytes(
            number, {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()}, out);
    } else if constexpr (IsA<T, std::pair>::value) {
        put_delimited(number, out, [&] {
            put_value(1, value.first, out);
            put_value(2, value.second, out);
        });
    } else {
        put_delimited(number, out, [&] { put_message(value, out); });
    }
}

template <class T>
void put_field(std::uint32_t number, const T& value, const T& initial, std::string& out) {
    if constexpr (IsA<T, std::optional>::value) {
        if (value) put_value(number, *value, out);
    } else if constexpr (IsA<T, std::vector>::value) {
        using Item = typename T::value_type;
        if (value.empty()) return;
        if constexpr (kIsNumber<Item>) {
            put_delimited(number, out, [&] {
                for (const Item& item : value)
                    put_varint(to_varint(item), out);
            });
        } else {
            for (const Item& item : value)
                put_value(number, item, out);
        }
    } else if constexpr (IsMessage<T>::value || IsA<T, std::pair>::value) {
        put_value(number, value, out);
    } else {
        if (value == T{} && initial == T{}) return;
        put_value(number, value, out);
    }
}

template <class T>
void put_message(const T& value, std::string& out) {
    static const T initial{};
    std::apply(
        [&](const auto&... field) {
            (put_field(field.number, value.*field.member, initial.*field.member, out), ...);
        },
        Fields<T>::list());
}

// ---- reading
// -------------------------------------------------------------------------------------------------------

template <class T>
bool get_message(CodedInputStream& in, T& value);

/// Reads a length and runs `body` on exactly that many bytes.
template <class Body>
bool get_delimited(CodedInputStream& in, Body&& body) {
    std::uint32_t length = 0;
    if (!in.ReadVarint32(&length) || length > 0x7fffffffU) return false;
    if (!in.IncrementRecursionDepth()) return false;
    const auto limit = in.PushLimit(static_cast<int>(length));
    const bool good = body() && in.BytesUntilLimit() == 0;
    in.PopLimit(limit);
    in.DecrementRecursionDepth();
    return good;
}

template <class T>
bool get_fixed_bytes(CodedInputStream& in, T& bytes) {
    std::uint32_t length = 0;
    return in.ReadVarint32(&length) && length == bytes.size() &&
           in.ReadRaw(bytes.data(), static_cast<int>(bytes.size()));
}

template <class T>
bool get_value(CodedInputStream& in, T& value) {
    if constexpr (kIsNumber<T>) {
        std::uint64_t raw = 0;
        if (!in.ReadVarint64(&raw)) return false;
        value = from_varint<T>(raw);
        return true;
    } else if constexpr (std::is_same_v<T, double>) {
        std::uint64_t raw = 0;
        if (!in.ReadLittleEndian64(&raw)) return false;
        value = WireFormatLite::DecodeDouble(raw);
        return true;
    } else if constexpr (std::is_same_v<T, std::string>) {
        std::uint32_t length = 0;
        return in.ReadVarint32(&length) && length <= 0x7fffffffU &&
               in.ReadString(&value, static_cast<int>(length));
    } else if constexpr (std::is_same_v<T, Bytes16>) {
        return get_fixed_bytes(in, value);
    } else if constexpr (std::is_same_v<T, ContentHash>) {
        return get_fixed_bytes(in, value.bytes);
    } else if constexpr (IsA<T, std::pair>::value) {
        return get_delimited(in, [&] {
            while (const std::uint32_t tag = in.ReadTag()) {
                const int number = WireFormatLite::GetTagFieldNumber(tag);
                if (number == 1   ? !get_value(in, value.first)
                    : number == 2 ? !get_value(in, value.second)
                                  : !WireFormatLite::SkipField(&in, tag)) {
                    return false;
                }
            }
            return true;
        });
    } else {
        return get_delimited(in, [&] { return get_message(in, value); });
    }
}

template <class T>
constexpr WireFormatLite::WireType wire_type() {
    if constexpr (kIsNumber<T>) {
        return WireFormatLite::WIRETYPE_VARINT;
    } else if constexpr (std::is_same_v<T, double>) {
        return WireFormatLite::WIRETYPE_FIXED64;
    } else if constexpr (IsA<T, std::optional>::value) {
        return wire_type<typename T::value_type>();
    } else {
        return WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    }
}

template <class T>
bool get_field(CodedInputStream& in, std::uint32_t tag, T& value) {
    if (WireFormatLite::GetTagWireType(tag) != wire_type<T>())
        return WireFormatLite::SkipField(&in, tag);
    if constexpr (IsA<T, std::optional>::value) {
        return get_value(in, value.emplace());
    } else if constexpr (IsA<T, std::vector>::value) {
        using Item = typename T::value_type;
        if constexpr (kIsNumber<Item>) {
            return get_delimited(in, [&] {
                while (in.BytesUntilLimit() > 0) {
                    std::uint64_t raw = 0;
                    if (!in.ReadVarint64(&raw)) return false;
                    value.push_back(from_varint<Item>(raw));
                }
                return true;
            });
        } else {
            return get_value(in, value.emplace_back());
        }
    } else {
        return get_value(in, value);
    }
}

template <class T>
bool get_message(CodedInputStream& in, T& value) {
    while (const std::uint32_t tag = in.ReadTag()) {
        const auto number = static_cast<std::uint32_t>(WireFormatLite::GetTagFieldNumber(tag));
        bool known = false;
        bool good = true;
        std::apply(
            [&](const auto&... field) {
                (void)((field.number == number &&
                        (known = true, good = get_field(in, tag, value.*field.member), true)) ||
                       ...);
            },
            Fields<T>::list());
        if (!known) good = WireFormatLite::SkipField(&in, tag);
        if (!good) return false;
    }
    return true;
}

// ---- the facade's templates, instantiated in the tables' files
// -----------------------------------------------------

template <class T>
void append(const T& value, std::string& out) {
    put_message(value, out);
}

template <class T>
Result<T> decode(std::string_view bytes) {
    T value{};
    CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                        static_cast<int>(bytes.size()));
    if (!get_message(in, value) || !in.ConsumedEntireMessage()) {
        return fail(ErrorCode::Corrupt, std::string("malformed ") + Fields<T>::name);
    }
    return value;
}

/// "Name 3 field" lines, to hold the numbers against the kept list.
template <class T>
void list_numbers(std::string& out) {
    std::apply(
        [&](const auto&... field) {
            ((out += std::string(Fields<T>::name) + " " + std::to_string(field.number) + " " +
                     field.name + "\n"),
             ...);
        },
        Fields<T>::list());
}

#define WIRE_FIELD(number, member)  \
    Field<T, decltype(T::member)> { \
        number, #member, &T::member \
    }
#define WIRE_MESSAGE(type, ...)                                               \
    template <>                                                               \
    struct Fields<type> {                                                     \
        using T = type;                                                       \
        static constexpr const char* name = #type;                            \
        static constexpr auto list() { return std::make_tuple(__VA_ARGS__); } \
    }
#define WIRE_INSTANTIATE(type)                             \
    template void append<type>(const type&, std::string&); \
    template Result<type> decode<type>(std::string_view);  \
    template void list_numbers<type>(std::string&)

}  // namespace twinyard::wire
