#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/shell/stepd_port.h"
#include "base/hash.h"
#include "base/result.h"
#include "rpc/client.h"
#include "rpc/loop.h"

namespace twinyard::agent {

/// Largest blob that is fetched; scripts and environments are far smaller.
inline constexpr std::size_t kBlobBytesMax = std::size_t{64} << 20;

/// The connection to the controller, mended for ever: order stream, reports, blobs. Loop's thread;
/// callbacks never run inside its methods.
class ControllerLink {
  public:
    using OnBlob = std::move_only_function<void(Result<std::string> bytes)>;

    /// InvalidArgument: a malformed address.
    [[nodiscard]] static Result<std::unique_ptr<ControllerLink>> open(rpc::Loop& loop,
                                                                      const std::string& address,
                                                                      OnEvent on_event);
    /// Nobody is called back any more.
    ~ControllerLink();
    ControllerLink(const ControllerLink&) = delete;
    ControllerLink& operator=(const ControllerLink&) = delete;

    void send(const SendHello& hello);
    void send(SendReport report);
    /// Leaves the order stream and opens a new one after a pause.
    void drop(const DropConnection& reason);
    /// The bytes, checked against their hash. NotFound: the controller does not have them; other
    /// errors may pass.
    void fetch(const ContentHash& hash, OnBlob on_blob);

  private:
    ControllerLink(rpc::Loop& loop, OnEvent on_event)
        : loop_(loop), on_event_(std::move(on_event)) {}

    void raise(Event event);
    void on_connected();
    void on_stream_end(const Status& end);
    void come_again();

    rpc::Loop& loop_;
    OnEvent on_event_;
    std::optional<rpc::Client> client_;
    std::optional<rpc::CallId> stream_;
    bool closed_ = false;
    bool told_down_ = false;  ///< The log has it; it is not repeated for each attempt.
    rpc::Timer again_;
};

}  // namespace twinyard::agent
