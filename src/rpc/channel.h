#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "rpc/address.h"
#include "rpc/frame.h"
#include "rpc/loop.h"

namespace twinyard::rpc {

/// What a Channel tells its owner. The owner may close or drop the channel inside each of these.
class ChannelUser {
  public:
    virtual void on_frame(Frame frame) = 0;
    /// So many bytes left for the kernel since the last call.
    virtual void on_sent(std::size_t bytes) = 0;
    /// The connection is gone, the channel is closed; told once, and not after close().
    virtual void on_lost(const Error& error) = 0;

  protected:
    ~ChannelUser() = default;
};

/// Frames over one connected socket: both ends of the wire use it. Inside rpc only. Loop's thread.
/// Memory while idle: under 4 KiB.
class Channel : public std::enable_shared_from_this<Channel> {
  public:
    Channel(Loop& loop, UniqueFd fd, ChannelUser& user);
    /// After construction, once a shared_ptr owns it.
    void start();

    /// Queues a frame and tries to send it at once; inside on_frame() sending waits for the end of
    /// what was read.
    void send(const FrameHead& head, std::string_view payload);
    /// Sends what the kernel takes now, then closes.
    void close();
    void pause_reading(bool paused);
    void set_payload_max(std::size_t payload_max) { decoder_.set_payload_max(payload_max); }

    [[nodiscard]] bool is_open() const { return static_cast<bool>(fd_); }
    [[nodiscard]] std::size_t unsent() const { return out_.size() - out_sent_; }
    [[nodiscard]] std::size_t half_read() const { return decoder_.buffered(); }
    /// Grow with each byte; for watching progress.
    [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_sent_; }
    [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

  private:
    void on_ready(FdEvents events);
    void read_once();
    void deliver();
    void flush();
    void last_words(const Error& error);
    void lose(const Error& error);
    void shut();
    void update_events();

    Loop& loop_;
    UniqueFd fd_;
    ChannelUser* user_;
    Watch watch_;
    FrameDecoder decoder_;
    std::string out_;
    std::size_t out_sent_ = 0;
    std::uint64_t bytes_sent_ = 0;
    std::uint64_t bytes_read_ = 0;
    bool corked_ = false;
    bool reading_paused_ = false;
    bool write_blocked_ = false;
};

}  // namespace twinyard::rpc
