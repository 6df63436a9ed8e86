#pragma once

// For tests only: a cluster and its workloads written in a few lines of text. Anything wrong in the
// text is a bug of the test and stops it.
//
//   node n[1-4] cpus=8 threads=2 gpus=h100:8 mem=64G features=a,b weight=1 state=drain
//   partition train nodes=n[1-4] tier=10 max=7d default=1h state=down   (nodes=all: every node)
//   policy fifo backfill=no reservations=1 age=1000 size=0 part=0 qos=0
//   qos high 10
//   running 9 in=train on=n[1-2] gpus=h100:8 left=4d    (left=none: no end; over=1m: overran)
//   job 1 in=train,debug nodes=2 gpus=h100:8 time=2h
//
// A job is one group: nodes=2 or 2-4, n=6 (members; else one a node), mpn=4 (members a node), c=2
// (cpus a member, 1), mem=4G a node, gpus=h100:8 a node, gpus_each=h100:1 a member,
// gpus_all=h100:16 in total, mem_each=1G; take=cpus,memory,devices; share=node or user; with=a&b|c
// (features), same; include=n1 exclude=n2; time=2h or none; user=1001 nice=5 prio=7 hold begin=1h
// age=1h (eligible so long ago) door=kube min=3 (members of the whole). "+ ..." on the next line
// adds a group to the last job.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/duration_text.h"
#include "base/hostlist.h"
#include "model/ledger.h"
#include "model/snapshot.h"

namespace twinyard::model::testing {

/// The words of a line: names and key=value pairs.
class Words {
  public:
    explicit Words(const std::string& line) {
        std::istringstream in(line);
        for (std::string word; in >> word;) {
            const std::size_t equals = word.find('=');
            if (equals == std::string::npos) {
                bare_.push_back(word);
            } else {
                pairs_[word.substr(0, equals)] = word.substr(equals + 1);
            }
        }
    }
    [[nodiscard]] std::string bare(std::size_t at) const {
        return at < bare_.size() ? bare_[at] : std::string();
    }
    [[nodiscard]] bool says(std::string_view word) const {
        return std::ranges::count(bare_, word) > 0;
    }
    [[nodiscard]] bool has(const std::string& key) const { return pairs_.contains(key); }
    [[nodiscard]] std::string text(const std::string& key, std::string fallback = {}) const {
        const auto found = pairs_.find(key);
        return found == pairs_.end() ? std::move(fallback) : found->second;
    }
    [[nodiscard]] std::int64_t number(const std::string& key, std::int64_t fallback) const {
        return has(key) ? std::strtoll(text(key).c_str(), nullptr, 10) : fallback;
    }
    [[nodiscard]] std::uint32_t count(const std::string& key, std::uint32_t fallback) const {
        return static_cast<std::uint32_t>(number(key, fallback));
    }

  private:
    std::vector<std::string> bare_;
    std::map<std::string, std::string> pairs_;
};

[[nodiscard]] inline std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, at);)
        parts.push_back(part);
    return parts;
}

/// 90s, 5m, 2h, 4d, 7 (seconds); "none" is no limit.
[[nodiscard]] inline std::optional<Millis> duration(const std::string& text) {
    if (text == "none") return std::nullopt;
    char* unit = nullptr;
    const std::int64_t value = std::strtoll(text.c_str(), &unit, 10);
    const std::map<std::string, std::int64_t> units{
        {"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    CHECK(units.contains(unit));
    return Seconds{value * units.at(unit)};
}

[[nodiscard]] inline std::int64_t bytes(const std::string& text) {
    const Result<std::int64_t> size = parse_size(text);
    CHECK(size);
    return *size;
}

[[nodiscard]] inline std::vector<std::string> names(const std::string& hostlist) {
    Result<std::vector<std::string>> expanded = expand_hostlist(hostlist);
    CHECK(expanded);
    return *std::move(expanded);
}

/// "h100:8,a100:2": class paths below "gpu"; a bare number is of any class.
[[nodiscard]] inline std::vector<DeviceRequest> gpus(const std::string& text) {
    std::vector<DeviceRequest> requests;
    for (const std::string& part : split(text, ',')) {
        const std::size_t colon = part.find(':');
        DeviceRequest request;
        request.class_path = colon == std::string::npos ? "gpu" : "gpu/" + part.substr(0, colon);
        const std::string count = colon == std::string::npos ? part : part.substr(colon + 1);
        request.count = std::strtoll(count.c_str(), nullptr, 10);
        requests.push_back(request);
    }
    std::ranges::sort(requests, {}, &DeviceRequest::class_path);
    return requests;
}

[[nodiscard]] inline Range range(const std::string& text) {
    const std::vector<std::string> ends = split(text, '-');
    const auto low = static_cast<std::uint32_t>(std::strtoul(ends.at(0).c_str(), nullptr, 10));
    if (ends.size() == 1) return Range{low, low};
    if (ends[1] == "any") return Range{low, kNoMaximum};
    return Range{low, static_cast<std::uint32_t>(std::strtoul(ends[1].c_str(), nullptr, 10))};
}

/// "a&b|c" as terms of features.
[[nodiscard]] inline std::vector<NodeTerm> terms(const std::string& text) {
    std::vector<NodeTerm> any_of;
    for (const std::string& alternative : split(text, '|')) {
        NodeTerm term;
        for (const std::string& feature : split(alternative, '&'))
            term.all.push_back(LabelTest{feature, LabelOp::Exists, {}});
        any_of.push_back(std::move(term));
    }
    return any_of;
}

[[nodiscard]] inline TaskGroup group(const Words& words) {
    TaskGroup group;
    group.nodes = range(words.text("nodes", "1-any"));
    const bool open = group.nodes.max == kNoMaximum;
    group.members = words.has("n")
                        ? range(words.text("n"))
                        : Range{group.nodes.min, open ? group.nodes.min : group.nodes.max};
    if (!words.has("n")) group.members_per_node = Range{1, 1};
    if (words.has("mpn")) group.members_per_node = range(words.text("mpn"));
    group.per_member.cpu_milli = 1000 * words.number("c", 1);
    group.per_member.memory_bytes = bytes(words.text("mem_each", "0"));
    group.per_member.devices = gpus(words.text("gpus_each"));
    group.per_node.memory_bytes = bytes(words.text("mem", "0"));
    group.per_node.devices = gpus(words.text("gpus"));
    group.total.devices = gpus(words.text("gpus_all"));
    for (const std::string& what : split(words.text("take"), ',')) {
        group.take_all.cpus |= what == "cpus";
        group.take_all.memory |= what == "memory";
        group.take_all.devices |= what == "devices";
    }
    if (words.text("share") == "node") group.share = Share::WholeNode;
    if (words.text("share") == "user") group.share = Share::SameUser;
    group.where.any_of = terms(words.text("with"));
    group.where.same_alternative = words.says("same");
    if (words.has("include")) group.where.include = names(words.text("include"));
    if (words.has("exclude")) group.where.exclude = names(words.text("exclude"));
    if (words.has("switches")) group.where.switches_max = words.count("switches", 1);
    return group;
}

/// Reads the notation above, line by line, into a snapshot at cluster time 1,000,000 s.
class ClusterText {
  public:
    static constexpr ClusterTime kNow{Seconds{1'000'000}};
    static constexpr WallTime kWall{Seconds{1'800'000'000}};

    /// The whole text; lines that are empty or begin with # do not count.
    [[nodiscard]] static Snapshot read(const std::string& text) {
        ClusterText reader;
        std::istringstream in(text);
        for (std::string line; std::getline(in, line);)
            reader.add(line);
        return reader.finish();
    }

    void add(const std::string& line) {
        const Words words(line);
        const std::string what = words.bare(0);
        if (what.empty() || what[0] == '#') return;
        if (what == "node") {
            add_nodes(words);
        } else if (what == "partition") {
            add_partition(words);
        } else if (what == "policy") {
            set_policy(words);
        } else if (what == "qos") {
            config_.qos.push_back(Qos{words.bare(1), number_at(words, 2)});
        } else if (what == "job") {
            pending_.emplace_back(number_at(words, 1), job(words));
        } else if (what == "running") {
            add_running(words);
        } else {
            CHECK(what == "+" && !pending_.empty());
            pending_.back().second.spec.groups.push_back(group(words));
        }
    }

    [[nodiscard]] Snapshot finish() {
        snapshot_.revision = 1;
        snapshot_.time = kNow;
        snapshot_.wall = kWall;
        snapshot_.config = std::make_shared<const ClusterConfig>(config_);
        for (auto& [id, draft] : pending_) {
            auto workload = std::make_shared<Workload>();
            workload->spec = std::make_shared<const WorkloadSpec>(std::move(draft.spec));
            workload->status = draft.status;
            put(id, std::move(workload));
        }
        return snapshot_;
    }

  private:
    struct Draft {
        WorkloadSpec spec;
        WorkloadStatus status;
    };

    static std::uint32_t number_at(const Words& words, std::size_t at) {
        return static_cast<std::uint32_t>(std::strtoul(words.bare(at).c_str(), nullptr, 10));
    }

    void put(std::uint64_t id, std::shared_ptr<Workload> workload) {
        workload->id = WorkloadId{id};
        workload->job = JobId{static_cast<std::uint32_t>(id)};
        workload->revision = 1;
        snapshot_.jobs.put(id, workload->id);
        snapshot_.workloads.put(id, std::move(workload));
    }

    void add_nodes(const Words& words) {
        for (const std::string& name : names(words.bare(1))) {
            auto node = std::make_shared<Node>();
            node->id = NodeId{static_cast<std::uint32_t>(snapshot_.nodes.size() + 1)};
            node->name = name;
            node->capacity = capacity(words);
            for (const std::string& feature : split(words.text("features"), ','))
                node->labels.emplace_back(feature, "");
            std::ranges::sort(node->labels);
            node->weight = words.count("weight", 1);
            node->link = NodeLink::Responding;
            const std::string state = words.text("state");
            if (state == "drain") node->drain = true;
            if (state == "down") node->down = true;
            if (state == "lost") node->link = NodeLink::Lost;
            by_name_[name] = node->id;
            const std::uint64_t id = node->id.value();
            snapshot_.nodes.put(id, std::move(node));
        }
    }

    static NodeCapacity capacity(const Words& words) {
        NodeCapacity capacity;
        capacity.cpus = words.count("cpus", 64);
        capacity.threads_per_core = words.count("threads", 1);
        capacity.cores_per_socket = capacity.cpus / capacity.threads_per_core;
        capacity.memory_bytes = bytes(words.text("mem", "1000G"));
        for (const DeviceRequest& device : gpus(words.text("gpus"))) {
            for (std::int64_t i = 0; i < device.count; ++i) {
                Device added;
                added.class_path = device.class_path;
                capacity.devices.push_back(std::move(added));
            }
        }
        return capacity;
    }

    void add_partition(const Words& words) {
        Partition partition;
        partition.name = words.bare(1);
        partition.all_nodes = words.text("nodes") == "all";
        if (!partition.all_nodes) partition.nodes = names(words.text("nodes"));
        partition.tier = partition.job_factor = words.count("tier", 1);
        partition.time_max = duration(words.text("max", "none"));
        partition.time_default = duration(words.text("default", "none"));
        if (words.has("nodes_max")) partition.nodes_max = words.count("nodes_max", 0);
        partition.exclusive_node = words.says("exclusive");
        if (words.text("state") == "down") partition.state = PartitionState::Down;
        if (words.text("state") == "inactive") partition.state = PartitionState::Inactive;
        config_.partitions.push_back(std::move(partition));
    }

    void set_policy(const Words& words) {
        PriorityPolicy& policy = config_.priority;
        policy.fifo = words.says("fifo");
        policy.backfill = words.text("backfill", "yes") != "no";
        policy.reservations = words.count("reservations", 1);
        policy.weight_age = words.count("age", 0);
        policy.weight_job_size = words.count("size", 0);
        policy.weight_partition = words.count("part", 0);
        policy.weight_qos = words.count("qos", 0);
        policy.favor_small = words.says("favor_small");
    }

    static Draft job(const Words& words) {
        Draft draft;
        WorkloadSpec& spec = draft.spec;
        spec.partitions = split(words.text("in", "all"), ',');
        spec.groups.push_back(group(words));
        spec.uid = words.count("user", 1000);
        spec.qos = words.text("qos");
        spec.nice = static_cast<std::int32_t>(words.number("nice", 0));
        spec.min_members = words.count("min", 1);
        if (words.text("door") == "kube") spec.door = Door::Kubernetes;
        if (words.has("prio")) spec.priority = words.count("prio", 0);
        if (words.has("time")) spec.time_limit = duration(words.text("time"));
        if (words.has("begin")) spec.begin = kWall + *duration(words.text("begin"));
        draft.status.submitted = kNow - *duration(words.text("age", "0"));
        draft.status.eligible = draft.status.submitted;
        if (words.says("hold")) draft.status.hold = Hold::User;
        return draft;
    }

    void add_running(const Words& words) {
        Draft draft = job(words);
        draft.spec.time_limit = Millis{Seconds{1'000'000}};
        const std::optional<Millis> left = duration(words.text("left", "1h"));
        if (!left) draft.spec.time_limit.reset();
        draft.status.state = WorkloadState::Running;
        draft.status.attempt = 1;
        draft.status.started = kNow - Seconds{1'000'000} + left.value_or(Millis{0});
        if (words.has("over"))
            draft.status.started = kNow - Seconds{1'000'000} - *duration(words.text("over"));
        auto workload = std::make_shared<Workload>();
        auto placement = std::make_shared<Placement>();
        placement->partition = draft.spec.partitions.front();
        std::uint32_t member = 0;
        for (const std::string& name : names(words.text("on")))
            placement->grants.push_back(grant(draft.spec, by_name_.at(name), member++));
        draft.status.runs.resize(placement->grants.size());
        workload->placement = std::move(placement);
        workload->spec = std::make_shared<const WorkloadSpec>(std::move(draft.spec));
        workload->status = draft.status;
        put(number_at(words, 1), std::move(workload));
    }

    /// One member and what is asked a node, from the lowest free devices.
    NodeGrant grant(const WorkloadSpec& spec, NodeId id, std::uint32_t member) {
        const Node& node = *find(snapshot_, id);
        const NodeUse* known = snapshot_.uses.find(id.value());
        NodeUse use = known == nullptr ? NodeUse{} : *known;
        const TaskGroup& asked = spec.groups.front();
        PlannedGrant planned;
        planned.node = id;
        planned.first_member = member;
        planned.member_count = 1;
        planned.cpu_milli = asked.per_member.cpu_milli;
        planned.memory_bytes = asked.per_node.memory_bytes + asked.per_member.memory_bytes;
        if (asked.take_all.cpus) planned.cpu_milli = std::int64_t{1000} * node.capacity.cpus;
        if (asked.take_all.memory) planned.memory_bytes = node.capacity.memory_bytes;
        for (const DeviceRequest& device : asked.per_node.devices)
            pick(node, use, device, planned.devices);
        const std::int64_t core = 1000 * threads_per_granted_core(node.capacity);
        planned.cpu_milli = (planned.cpu_milli + core - 1) / core * core;
        CHECK(covers(node, use, planned, spec));
        NodeGrant settled = settle(node, use, planned, spec);
        take(use, settled, spec);
        snapshot_.uses.put(id.value(), use);
        return settled;
    }

    static void pick(const Node& node,
                     const NodeUse& use,
                     const DeviceRequest& request,
                     std::vector<std::uint16_t>& out) {
        const std::vector<std::uint64_t> free = free_devices(node.capacity, use);
        std::int64_t left = request.count;
        for (std::uint16_t device = 0; device < node.capacity.devices.size() && left > 0;
             ++device) {
            const bool is_free =
                device / 64U < free.size() && (free[device / 64] >> device % 64 & 1);
            if (!is_free || std::ranges::count(out, device) > 0) continue;
            if (!is_of_class(node.capacity.devices[device].class_path, request.class_path))
                continue;
            out.push_back(device);
            --left;
        }
        CHECK(left == 0);
    }

    Snapshot snapshot_;
    ClusterConfig config_;
    std::map<std::string, NodeId> by_name_;
    std::vector<std::pair<std::uint64_t, Draft>> pending_;
};

}  // namespace twinyard::model::testing
