#include "sched/canonical.h"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sched/index.h"

namespace twinyard::sched {
namespace {

/// Appends values so that different sequences give different bytes.
class Writer {
  public:
    template <std::integral T>
    Writer& number(T value) {
        auto rest = static_cast<std::uint64_t>(value);
        while (rest >= 0x80) {
            bytes_.push_back(static_cast<char>((rest & 0x7f) | 0x80));
            rest >>= 7;
        }
        bytes_.push_back(static_cast<char>(rest));
        return *this;
    }
    Writer& text(std::string_view text) {
        number(text.size());
        bytes_.append(text);
        return *this;
    }
    template <class List, class Each>
    Writer& list(const List& list, Each&& each) {
        number(list.size());
        for (const auto& item : list)
            each(item);
        return *this;
    }
    template <class T>
    Writer& optional(const std::optional<T>& value) {
        number(value ? 1 : 0);
        if constexpr (std::integral<T>) {
            if (value) number(*value);
        } else {
            if (value) number(value->count());
        }
        return *this;
    }
    [[nodiscard]] std::string take() { return std::move(bytes_); }

  private:
    std::string bytes_;
};

void write(Writer& out, const model::Range& range) {
    out.number(range.min).number(range.max);
}

void write(Writer& out, const model::Resources& resources) {
    out.number(resources.cpu_milli).number(resources.memory_bytes);
    out.list(resources.devices, [&](const model::DeviceRequest& device) {
        out.text(device.class_path).number(device.count).number(device.share_milli);
    });
}

void write(Writer& out, const model::NodeTerm& term) {
    out.list(term.all, [&](const model::LabelTest& test) {
        out.text(test.key).number(static_cast<unsigned>(test.op));
        out.list(test.values, [&](const std::string& value) { out.text(value); });
    });
}

void write(Writer& out, const model::Where& where) {
    const auto name = [&](const std::string& text) { out.text(text); };
    out.list(where.any_of, [&](const model::NodeTerm& term) { write(out, term); });
    out.number(where.same_alternative ? 1 : 0);
    out.list(where.include, name).list(where.exclude, name);
    out.list(where.affinity, [&](const model::Affinity& affinity) {
        out.number(static_cast<unsigned>(affinity.kind)).number(affinity.required ? 1 : 0);
        out.text(affinity.level).number(affinity.max_skew);
        write(out, affinity.workloads);
    });
    out.optional(where.switches_max).optional(where.switches_wait);
}

void write(Writer& out, const model::TaskGroup& group) {
    write(out, group.members);
    write(out, group.per_member);
    write(out, group.per_node);
    write(out, group.total);
    out.number((group.take_all.cpus ? 1 : 0) | (group.take_all.memory ? 2 : 0) |
               (group.take_all.devices ? 4 : 0));
    write(out, group.nodes);
    write(out, group.members_per_node);
    out.number(static_cast<unsigned>(group.share));
    write(out, group.where);
}

}  // namespace

std::string shape_key(const model::WorkloadSpec& spec) {
    Writer out;
    out.number(static_cast<unsigned>(spec.door)).number(spec.min_members);
    out.optional(spec.time_limit);
    out.list(spec.partitions, [&](const std::string& name) { out.text(name); });
    bool by_user = false;
    out.list(spec.groups, [&](const model::TaskGroup& group) {
        write(out, group);
        by_user |= group.share == model::Share::SameUser;
    });
    out.number(by_user ? std::uint64_t{spec.uid} + 1 : 0);
    return out.take();
}

std::string node_class_key(const model::Node& node) {
    Writer out;
    const model::NodeCapacity& capacity = node.capacity;
    out.number(capacity.cpus).number(capacity.sockets).number(capacity.cores_per_socket);
    out.number(capacity.threads_per_core).number(capacity.memory_bytes).number(node.weight);
    out.list(capacity.devices, [&](const model::Device& device) { out.text(device.class_path); });
    out.list(node.labels, [&](const auto& label) { out.text(label.first).text(label.second); });
    return out.take();
}

}  // namespace twinyard::sched
