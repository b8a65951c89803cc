"""Planted bugs of content stores and the read tool (rules T4, T5); see `planted.py`."""

from typing import Final

from properties.planted import Planted

RULES: Final = "jingwei/stores/rules.py"
MEMORY: Final = "jingwei/stores/in_memory.py"
SQLITE: Final = "jingwei/stores/sqlite.py"
TOOL: Final = "jingwei/stores/read_tool.py"

T4: Final = "properties/test_stores.py::TestReadingReferencesT4::"
T5: Final = "properties/test_stores.py::TestContentStoresT5::"
MACHINE: Final = "properties/test_stores.py::TestStoreMachine"

ROWS: Final[tuple[Planted, ...]] = (
    Planted(
        "T4",
        "a page that ends inside a character moves on instead of back",
        RULES,
        "        end -= 1\n",
        "        end += 1\n",
        T4 + "test_a_page_is_the_longest_beginning_in_whole_characters",
    ),
    Planted(
        "T4",
        "a page that begins inside a character is given out from the next one",
        RULES,
        "    if piece and _continues(piece[0]):\n",
        "    while piece and _continues(piece[0]):\n        piece = piece[1:]\n    if False:\n",
        T4 + "test_a_page_is_the_longest_beginning_in_whole_characters",
    ),
    Planted(
        "T4",
        "the page before the end says that there is no more",
        RULES,
        "next_offset=None if after == total_bytes else after",
        "next_offset=None if after + 1 >= total_bytes else after",
        T4 + "test_the_pages_put_together_are_the_original",
    ),
    Planted(
        "T4",
        "a database cuts its pages one byte further on",
        SQLITE,
        "(offset + 1, size,",
        "(offset + 2, size,",
        T4 + "test_the_pages_put_together_are_the_original",
    ),
    Planted(
        "T4",
        "a reference of another store read",
        RULES,
        "    if ref.store_id != limits.store_id:\n"
        "        return Unavailable(reason=UnavailableReason.STORE)\n    if ref.scope",
        "    if ref.scope",
        T4 + "test_a_reference_with_any_other_word_leads_nowhere",
    ),
    Planted(
        "T4",
        "a reference believed in its task",
        RULES,
        "    if (held.task_id, held.expires_at_ms) != (scope.task_id, scope.expires_at_ms):\n",
        "    if held.expires_at_ms != scope.expires_at_ms:\n",
        T4 + "test_a_reference_with_any_other_word_leads_nowhere",
    ),
    Planted(
        "T4",
        "a reference believed in its size",
        RULES,
        "    if held.total_bytes != ref.total_bytes:\n"
        "        return Failure(Unavailable(reason=UnavailableReason.METADATA))\n    if not 0",
        "    if not 0",
        T4 + "test_a_reference_with_any_other_word_leads_nowhere",
    ),
    Planted(
        "T4",
        "a page for a model counted in characters",
        TOOL,
        "    after = answer.offset + utf8_bytes(text)\n",
        "    after = answer.offset + len(text)\n",
        T4 + "test_a_model_reads_the_original_from_its_answers",
    ),
    Planted(
        "T4",
        "a model reads what another task was granted",
        TOOL,
        "        if (ref.scope.session_id, ref.scope.task_id) == (grants.session_id, grants.task_id)\n",
        "        if ref.scope.session_id == grants.session_id\n",
        T4 + "test_a_model_reads_what_its_own_task_was_granted",
    ),
    Planted(
        "T4",
        "delimiters in a page not escaped",
        TOOL,
        "    return data_text({**_LABEL, **said})\n",
        "    return canonical({**_LABEL, **said})\n",
        T4 + "test_a_model_reads_the_original_from_its_answers",
    ),
    Planted(
        "T5",
        "texts kept by source event alone",
        MEMORY,
        "        found = self._texts.get((session_id, source))\n",
        "        found = next((one for (_, key), one in self._texts.items() if key == source), None)\n",
        MACHINE,
    ),
    Planted(
        "T5",
        "one text more than allowed",
        RULES,
        "    if entries >= limits.max_entries:\n",
        "    if entries > limits.max_entries:\n",
        T5 + "test_no_bound_is_ever_passed",
    ),
    Planted(
        "T5",
        "the bytes of a new text not counted",
        RULES,
        "    if total_bytes + size > limits.max_bytes:\n",
        "    if total_bytes > limits.max_bytes:\n",
        T5 + "test_no_bound_is_ever_passed",
    ),
    Planted(
        "T5",
        "a text as large as allowed refused",
        RULES,
        "    if len(raw) > limits.max_content_bytes:\n",
        "    if len(raw) >= limits.max_content_bytes:\n",
        T5 + "test_a_limit_is_itself_allowed",
    ),
    Planted(
        "T5",
        "another task's text taken for the same",
        RULES,
        "    elif ref.scope.task_id != held.task_id:\n        reason = ConflictReason.TASK\n",
        "",
        T5 + "test_a_second_text_for_a_source_is_the_same_or_a_conflict",
    ),
    Planted(
        "T5",
        "a text of the same size taken for the same",
        RULES,
        "        same = held.total_bytes == size and shelf.piece(session_id, source, 0, size) == raw\n",
        "        same = held.total_bytes == size\n",
        T5 + "test_a_second_text_for_a_source_is_the_same_or_a_conflict",
    ),
    Planted(
        "T5",
        "a text given out in the millisecond of its expiry",
        RULES,
        "    if scope.expires_at_ms <= now:\n",
        "    if scope.expires_at_ms < now:\n",
        T5 + "test_nothing_is_given_out_once_it_has_expired",
    ),
    Planted(
        "T5",
        "an earlier time believed because it is near",
        RULES,
        "    return max(last_ms, now_ms)\n",
        "    return now_ms\n",
        T5 + "test_nothing_is_given_out_once_it_has_expired",
    ),
    Planted(
        "T5",
        "a database forgets the time that a reader was told",
        SQLITE,
        '        self._connection.execute("UPDATE store SET last_ms = ?", (now,))\n',
        "        pass\n",
        T5 + "test_nothing_is_given_out_once_it_has_expired",
    ),
    Planted(
        "T5",
        "a life made shorter by renewing",
        RULES,
        "    until = max(held.expires_at_ms, expires_at_ms)\n",
        "    until = expires_at_ms\n",
        MACHINE,
    ),
    Planted(
        "T5",
        "removing what has expired leaves its bytes counted",
        MEMORY,
        "        self._bytes -= freed\n",
        "",
        MACHINE,
    ),
    Planted(
        "T5",
        "half a character replaced instead of refused",
        RULES,
        "        raw = text.encode()\n",
        '        raw = text.encode(errors="replace")\n',
        T5 + "test_half_a_character_is_never_stored",
    ),
)
