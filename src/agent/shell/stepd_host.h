#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/shell/blob_cache.h"
#include "agent/shell/stepd_link.h"
#include "agent/shell/stepd_port.h"
#include "os/fd.h"
#include "os/process_container.h"
#include "os/process_id.h"
#include "rpc/loop.h"

namespace twinyard::agent {

/// What a StepdHost tells every step daemon (api/stepd.h).
struct StepdSetup {
    std::string program;     ///< Path of twinyard-stepd.
    std::string folder;      ///< Of the agent; launches are in jobs/ below it.
    std::string node;        ///< Its name.
    std::string containers;  ///< Base of the containers.
    std::string slurm_conf, bin;
    bool node_hostname = false;
    bool cpuset_alone = false;
};

/// The real step daemons of one node: their folders, their start, the connections to them, and what
/// is found of them after a restart. Loop's thread.
class StepdHost final : public StepdPort {
  public:
    StepdHost(rpc::Loop& loop,
              StepdSetup setup,
              os::ContainerFactory& containers,
              BlobCache& blobs,
              OnEvent on_event);
    ~StepdHost() override;

    /// Before the first effect: ends and removes what is in jobs/ and in containers and not in
    /// `known`. That is left of launches that are over (a crash between Forget and the removal), or
    /// of a journal that is lost: the hello will say that nothing of them is left.
    void sweep(const std::set<api::LaunchKey>& known);
    void perform(const Effect& effect) override;
    [[nodiscard]] bool empty() const { return jobs_.empty(); }

  private:
    struct Job;

    void start(const StartStepd& effect);
    void adopt(const AdoptStepd& effect);
    void tell(const TellStepd& effect);
    void signal(const SignalStepd& effect);
    void forget(const ForgetLocal& effect);

    void fetch(Job& job, const ContentHash& hash);
    void on_blob(const api::LaunchKey& key, const ContentHash& hash, const Status& status);
    void fork_if_ready(Job& job);
    [[nodiscard]] Status write_folder(const Job& job) const;
    [[nodiscard]] Status fork(Job& job);
    [[nodiscard]] std::vector<std::string> argv(const Job& job) const;
    void wait_until_it_listens(Job& job, os::Fd ready);
    void connect(Job& job);

    void reap();
    void look(Job& job);
    void look_again(Job& job);
    void finish(Job& job, api::ObservedRun run);
    void bury(Job& job, os::Fd lock);
    void report_steps(const Job& job);
    void gone(Job& job, bool never_started, std::string detail);
    void close(Job& job);
    [[nodiscard]] Status empty_container(const std::string& name);
    void remove_leftover(const std::string& name);

    [[nodiscard]] Job* find(const api::LaunchKey& key);
    [[nodiscard]] std::string jobs_folder() const { return setup_.folder + "/jobs"; }
    void raise(Event event);

    rpc::Loop& loop_;
    StepdSetup setup_;
    os::ContainerFactory& containers_;
    BlobCache& blobs_;
    OnEvent on_event_;
    rpc::Watch on_child_;
    std::map<api::LaunchKey, std::unique_ptr<Job>> jobs_;
    std::map<pid_t, api::LaunchKey> children_;
    std::vector<std::unique_ptr<StepdLink>> closing_;
    std::shared_ptr<bool> alive_;  // Shared with posts in flight, which do nothing after our end.
};

}  // namespace twinyard::agent
