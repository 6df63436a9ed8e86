#include "controller/shell/row_stream.h"

#include <utility>

namespace twinyard::controller {
namespace {

struct Stream {
    rpc::Call call;
    Workers& workers;
    NextPart next;
};

void step(const std::shared_ptr<Stream>& stream) {
    for (;;) {
        std::string part;
        const Result<bool> more = stream->next(part);
        if (!more) {
            stream->call.fail(more.error());
            return;
        }
        if (!*more) {
            stream->call.reply(std::move(part));
            return;
        }
        const rpc::Flow flow = stream->call.send_part(std::move(part));
        if (flow != rpc::Flow::Open) return;  // Paused: on_writable goes on from here.
    }
}

}  // namespace

void stream_rows(rpc::Call call, Workers& workers, NextPart next) {
    auto stream = std::make_shared<Stream>(std::move(call), workers, std::move(next));
    // The call holds the stream by this until it is answered or cancelled.
    stream->call.on_writable([stream] {
        if (!stream->workers.try_post([stream] { step(stream); })) {
            stream->call.fail(Error(ErrorCode::Unavailable, "the controller is busy; try again"));
        }
    });
    step(stream);
}

}  // namespace twinyard::controller
