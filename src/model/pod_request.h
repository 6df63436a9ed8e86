#pragma once

#include <cstdint>
#include <span>

#include "model/resources.h"

namespace twinyard::model {

/// One container's request, and when it runs.
struct ContainerRequest {
    enum class Kind : std::uint8_t {
        Main,     ///< All together, after the init phase.
        Init,     ///< One after the other, in order.
        Sidecar,  ///< An init container that goes on running (restartPolicy: Always).
    };
    Kind kind = Kind::Main;
    Resources request;
};

/// What a Pod needs at its worst moment, in each resource by itself: all main containers and
/// sidecars, or one init container beside the sidecars before it. `overhead` (of the runtime class)
/// comes on top.
[[nodiscard]] Resources pod_request(std::span<const ContainerRequest> containers,
                                    const Resources& overhead);

}  // namespace twinyard::model
