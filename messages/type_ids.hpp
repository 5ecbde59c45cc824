#pragma once

#include <vector>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <caf/type_id.hpp>

#include "messages/batch.hpp"
#include "messages/block.hpp"

/// What crosses a mailbox by itself; conversations are in actors/interfaces.hpp. Append only.
CAF_BEGIN_TYPE_ID_BLOCK(cdc, caf::first_custom_type_id)

CAF_ADD_ATOM(cdc, cdc, done_atom, "done")
CAF_ADD_ATOM(cdc, cdc, tick_atom, "tick")
CAF_ADD_ATOM(cdc, cdc, stop_atom, "stop")
CAF_ADD_ATOM(cdc, cdc, finish_atom, "finish")
CAF_ADD_ATOM(cdc, cdc, alive_atom, "alive")

CAF_END_TYPE_ID_BLOCK(cdc)

// Rows stay inside this process (between processes they travel in the form of messages/wire.hpp),
// so they need no serializer, and having none keeps cell values out of every log of the framework.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(cdc::block_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(cdc::batch_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(cdc::write_report)
