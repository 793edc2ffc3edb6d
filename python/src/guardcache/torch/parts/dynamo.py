"""What Dynamo says of a compile before anything is looked up: see `guardcache.torch._recompiles`.

Nothing is decided here. Whatever goes wrong, Dynamo's own function has done its work.
"""

from __future__ import annotations

import copy
import functools
import logging
from typing import TYPE_CHECKING, Any

from torch._dynamo import convert_frame, pgo

from guardcache.adapter import Patches
from guardcache.torch import _labels as labels
from guardcache.torch import _recompiles as recompiles

if TYPE_CHECKING:
    from guardcache.torch._adapter import Adapter

log = logging.getLogger("guardcache.torch")


def plan(patches: Patches, adapter: Adapter) -> None:
    find_reasons = vars(convert_frame)["get_and_maybe_log_recompilation_reasons"]
    update = pgo.update_automatic_dynamic

    @functools.wraps(find_reasons)
    def reasons_of(entries: Any, frame: Any, *arguments: Any, **named: Any) -> Any:
        reasons = find_reasons(entries, frame, *arguments, **named)
        try:
            adapter.recompiles.traced_again(frame.f_code, reasons)
        except Exception:
            log.debug("Dynamo's reasons can't be told", exc_info=True)
        return reasons

    @functools.wraps(update)
    def updated(tx: Any, name: str, entry: Any, **named: Any) -> Any:
        before = _state(tx, name)
        after = update(tx, name, entry, **named)
        try:
            code = labels.traced_code()
            if before is not None and code is not None:
                adapter.recompiles.became_dynamic(code, recompiles.changes(name, before, after, entry))
        except Exception:
            log.debug("what became dynamic can't be told", exc_info=True)
        return after

    patches.set(convert_frame, "get_and_maybe_log_recompilation_reasons", reasons_of)
    patches.set(pgo, "update_automatic_dynamic", updated)


def _state(tx: Any, name: str) -> Any:
    """What Dynamo remembers of a source, which it changes in place; None: it is new."""
    try:
        known = pgo.get_code_state()[pgo.CodeId.make(tx.f_code, tx.closure)].automatic_dynamic
        return copy.copy(known[name]) if name in known else None
    except Exception:
        log.debug("Dynamo's state can't be read", exc_info=True)
        return None
