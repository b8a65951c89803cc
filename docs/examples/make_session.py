"""Write the example session that `jingwei demo` shows and that the documentation speaks of.

    python docs/examples/make_session.py

Deterministic: the same bytes on every run. One working day of an agent that helps the people who
run a bookshop's order service; the people write Chinese and English as they please.
"""
# ruff: noqa: E501  # recorded text keeps its lines

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias, final

from jingwei.events.records import (
    AssistantDelta,
    AssistantReply,
    CustomEvent,
    DoneEvent,
    DoneStatus,
    ErrorEvent,
    EventKind,
    GenerationLimits,
    GenerationMode,
    GenerationPartial,
    ModeDecided,
    ModelFailed,
    ModelFailureCategory,
    ModelOutcome,
    ModelRequest,
    ModelRequestEvent,
    ModelRequestOptions,
    ModelResult,
    ModelResultEvent,
    ModelSucceeded,
    OperationContract,
    OperationEffect,
    PlanReady,
    SessionEvent,
    StageProgress,
    StageStatus,
    Timeout,
    ToolCall,
    ToolCallEvent,
    ToolFailed,
    ToolFailureCategory,
    ToolOperation,
    ToolOutcome,
    ToolResult,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.events.wire import encode_log
from jingwei.ids import EventId, MessageId, ModelCallId, ProviderCallId, SessionId, ToolCallId, TurnId
from jingwei.jsontext import Json, NotJson, json_of
from jingwei.messages.records import (
    Finished,
    FinishKind,
    GenerationRequest,
    GenerationResponse,
    ModelToolCall,
    TokenUsage,
    UserMessage,
)

SESSION: Final = SessionId("bookshop-oncall-0612")
TARGET: Final = Path(__file__).resolve().parents[2] / "jingwei" / "demo" / "session.jsonl"

Call: TypeAlias = tuple[str, str, dict[str, object]]
"""Id, name and arguments of a tool call."""


def main() -> None:
    """Write the file."""
    data = encode_log(events()).unwrap()
    TARGET.write_bytes(data)
    sys.stdout.write(f"{TARGET.name}: {len(events())} events, {len(data)} bytes\n")


def events() -> tuple[SessionEvent, ...]:
    """The whole session."""
    log = Log()
    for turn in (
        broken_build,
        mend_import,
        house_rules,
        five_hundreds,
        provider_fell_over,
        pool_exhausted,
        ask_before_rollback,
        rollback,
        nightly_job,
        too_much_asked,
        regression_test,
        review_three_files,
        migration_plan,
        slow_query,
        checkpoint,
        postmortem,
        status_page,
    ):
        turn(log)
    return tuple(log.written)


@final
class Log:
    """Appends events; numbers them, and names what needs a name."""

    def __init__(self) -> None:
        self.written = list[SessionEvent]()
        self.turn = 0

    def add(self, kind: EventKind, message_id: str | None = None) -> None:
        """One event of the running turn."""
        seq = len(self.written)
        self.written.append(
            SessionEvent(
                event_id=EventId(f"ev_{seq:04d}"),
                session_id=SESSION,
                turn_id=TurnId(f"turn_{self.turn:02d}"),
                message_id=None if message_id is None else MessageId(message_id),
                seq=seq,
                kind=kind,
            )
        )

    def user(self, text: str) -> None:
        """A new turn, and what the user says in it."""
        self.turn += 1
        self.add(UserMessageEvent(text=text))

    def call(self, *calls: Call) -> None:
        """Calls that run at the same time."""
        for call_id, name, arguments in calls:
            call = ToolCall(id=ToolCallId(call_id), name=name, arguments=free(arguments))
            self.add(ToolCallEvent(call=call))

    def result(self, call_id: str, output: str) -> None:
        """A call returned."""
        self.end(call_id, ToolSucceeded(output=output))

    def end(self, call_id: str, outcome: ToolOutcome) -> None:
        """A call ended, one way or the other."""
        self.add(ToolResultEvent(result=ToolResult(call_id=ToolCallId(call_id), outcome=outcome)))

    def asked(self, call_id: str, text: str, outcome: ModelOutcome) -> None:
        """The audit pair of one model call."""
        request = ModelRequest(
            call_id=ModelCallId(call_id),
            mode=GenerationMode.STREAM,
            input=GenerationRequest(messages=(UserMessage(content=text),)),
            options=ModelRequestOptions(
                max_tokens=4096,
                timeout=Timeout(secs=90, nanos=0),
                limits=GenerationLimits(max_output_bytes=1 << 20, max_tool_calls=16),
            ),
        )
        self.add(ModelRequestEvent(request=request))
        self.add(ModelResultEvent(result=ModelResult(call_id=ModelCallId(call_id), outcome=outcome)))

    def reply(self, text: str, status: DoneStatus = DoneStatus.COMPLETED) -> None:
        """The complete reply, and the end of the turn."""
        self.add(AssistantReply(text=text), message_id=f"msg_{self.turn:02d}")
        self.add(DoneEvent(status=status))

    def custom(self, kind: str, payload: object) -> None:
        """What a plugin of the host wants kept."""
        self.add(CustomEvent(plugin="oncall", kind=kind, payload=free(payload)))

    def stage(self, stage: str, status: StageStatus, message: str | None = None) -> None:
        """A stage of the host's own moved on."""
        self.add(StageProgress(stage=stage, status=status, message=message))


def free(value: object) -> Json:
    """Free JSON of a value that is known to be JSON."""
    found = json_of(value)
    assert not isinstance(found, NotJson), found
    return found


def answered(
    content: str | None, calls: Sequence[Call], input_tokens: int, output_tokens: int
) -> ModelOutcome:
    """What a model answered: text, proposed calls, or both."""
    return ModelSucceeded(
        response=GenerationResponse(
            content=content,
            tool_calls=tuple(
                ModelToolCall(id=ProviderCallId(i), name=name, arguments=free(a)) for i, name, a in calls
            ),
            finish_reason=Finished(kind=FinishKind.TOOL_CALLS if calls else FinishKind.STOP),
            usage=TokenUsage(
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                total_tokens=input_tokens + output_tokens,
            ),
        )
    )


# --- the day, turn by turn ------------------------------------------------------------------------


def broken_build(log: Log) -> None:
    """Two calls at once; the second ends first."""
    log.user("早。main 上的 CI 从昨晚开始就是红的，帮我看看是哪次提交弄坏的，先不要改代码。")
    log.add(ModeDecided(mode="investigate", decided_by="router", reason="the user asked for a cause only"))
    calls: list[Call] = [
        ("c1", "ci_log", {"pipeline": 48213, "job": "unit", "tail": 40}),
        ("c2", "git_log", {"branch": "main", "since": "2026-06-11T18:00:00+08:00", "stat": True}),
    ]
    log.asked("m1", "(the conversation so far)", answered(None, calls, 1812, 96))
    log.call(*calls)
    log.result(
        "c2",
        "9f31c0e 2026-06-11 19:42 Lin Yue     refactor: move pricing helpers into shop/pricing/rules.py\n"
        " shop/pricing.py            | 212 -------------------\n"
        " shop/pricing/__init__.py   |   3 +\n"
        " shop/pricing/rules.py      | 214 +++++++++++++++++++\n"
        "4b7ad55 2026-06-11 18:20 Omar Haddad feat: show stock of the nearest branch on the product page\n"
        " shop/stock/nearest.py      |  61 ++++++\n"
        " tests/stock/test_nearest.py|  48 ++++\n"
        "c02e981 2026-06-11 18:03 Lin Yue     chore: bump uvicorn to 0.34.2\n",
    )
    log.result(
        "c1",
        "collected 1184 items / 1 error\n\n"
        "==================================== ERRORS ====================================\n"
        "______________ ERROR collecting tests/orders/test_discounts.py ________________\n"
        "ImportError while importing test module '/builds/shop/tests/orders/test_discounts.py'.\n"
        "shop/orders/discounts.py:7: in <module>\n"
        "    from shop.pricing import apply_member_price, round_half_even\n"
        "E   ImportError: cannot import name 'round_half_even' from 'shop.pricing' "
        "(/builds/shop/shop/pricing/__init__.py)\n"
        "=========================== short test summary info ============================\n"
        "ERROR tests/orders/test_discounts.py\n"
        "!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!\n",
    )
    for piece in ("弄坏 CI 的是 ", "9f31c0e（林月，", "6月11日 19:42）。"):
        log.add(AssistantDelta(text=piece))
    log.reply(
        "弄坏 CI 的是 9f31c0e（林月，6月11日 19:42）。它把 `shop/pricing.py` 拆成了包 `shop/pricing/`，"
        "但新的 `__init__.py` 只导出了 `apply_member_price`，没有导出 `round_half_even`；"
        "`shop/orders/discounts.py` 第 7 行仍然从 `shop.pricing` 导入它，所以收集测试时就失败了。\n\n"
        "另外两次提交（4b7ad55、c02e981）与此无关。代码我没有动。"
    )


def mend_import(log: Log) -> None:
    """A chain of calls, each waiting for the one before."""
    log.user("OK, re-export it in the package and run the order tests. Keep the diff small.")
    log.call(("c1", "read_file", {"path": "shop/pricing/__init__.py"}))
    log.result(
        "c1", 'from shop.pricing.rules import apply_member_price\n\n__all__ = ["apply_member_price"]\n'
    )
    log.call(
        (
            "c2",
            "edit_file",
            {
                "path": "shop/pricing/__init__.py",
                "old": 'from shop.pricing.rules import apply_member_price\n\n__all__ = ["apply_member_price"]\n',
                "new": "from shop.pricing.rules import apply_member_price, round_half_even\n\n"
                '__all__ = ["apply_member_price", "round_half_even"]\n',
            },
        )
    )
    log.result("c2", "1 replacement in shop/pricing/__init__.py")
    log.call(("c3", "run", {"command": "pytest tests/orders -q", "timeout_s": 300}))
    log.stage("tests", StageStatus.STARTED, "tests/orders")
    log.result(
        "c3",
        "........................................................................ [ 34%]\n"
        "........................................................................ [ 68%]\n"
        "...................................................................      [100%]\n"
        "211 passed in 18.42s\n",
    )
    log.stage("tests", StageStatus.COMPLETED)
    log.reply(
        "Done. `shop/pricing/__init__.py` now exports `round_half_even` again (two lines changed), and the "
        "211 order tests pass. I left the rest of the refactoring as it is. Not committed yet."
    )


def house_rules(log: Log) -> None:
    """What a host would pin: it binds everything that follows."""
    log.user(
        "提交吧。还有两条规矩，今天一直有效：\n"
        "1. 不要碰 shop/payment/ 下面的任何文件，审计冻结到月底；\n"
        "2. 没有我明确说「确认」，任何东西都不许部署或回滚。"
    )
    log.add(
        ToolCallEvent(
            call=ToolCall(
                operation=ToolOperation(
                    task_id="task-0612-1",
                    key="commit:shop/pricing/__init__.py",
                    contract=OperationContract(effect=OperationEffect.NON_IDEMPOTENT, revision="git-3"),
                ),
                id=ToolCallId("c1"),
                name="git_commit",
                arguments=free(
                    {"message": "fix: export round_half_even again", "paths": ["shop/pricing/__init__.py"]}
                ),
            )
        )
    )
    log.result(
        "c1",
        "[main 7d0a4be] fix: export round_half_even again\n 1 file changed, 2 insertions(+), 2 deletions(-)",
    )
    log.reply("已提交 7d0a4be。两条规矩记下了：不动 `shop/payment/`；没有你的「确认」，不部署、不回滚。")


def five_hundreds(log: Log) -> None:
    """Three calls at once, ending in another order; one large result."""
    log.user("线上告警：orders-api 的 5xx 从 10:20 开始升高。拉日志、看指标、看最近的发布，告诉我根因。")
    log.custom(
        "alert", {"rule": "orders-api-5xx", "value": 0.0731, "threshold": 0.01, "fired_at_ms": 1781231520123}
    )
    calls: list[Call] = [
        ("c1", "fetch_logs", {"service": "orders-api", "from": "10:18", "to": "10:26", "level": "INFO"}),
        ("c2", "metrics", {"service": "orders-api", "series": ["5xx_rate", "p99_ms", "db_pool_in_use"]}),
        ("c3", "deployments", {"service": "orders-api", "limit": 3}),
    ]
    log.asked("m1", "(the conversation so far)", answered(None, calls, 4210, 158))
    log.call(*calls)
    log.result(
        "c3",
        "id      version  finished          by           change\n"
        "dep-913 2.15.0   2026-06-12 10:12  omar.haddad  nearest-branch stock on product page; uvicorn 0.34.2\n"
        "dep-907 2.14.3   2026-06-10 16:40  lin.yue      member price rounding\n"
        "dep-901 2.14.2   2026-06-08 11:05  lin.yue      order export: CSV with BOM for Excel\n",
    )
    log.result(
        "c2",
        "time   5xx_rate  p99_ms  db_pool_in_use\n"
        "10:10  0.0004       182           7/40\n"
        "10:14  0.0005       214          19/40\n"
        "10:18  0.0021       960          40/40\n"
        "10:20  0.0318      5003          40/40\n"
        "10:22  0.0731      5005          40/40\n"
        "10:24  0.0749      5004          40/40\n",
    )
    log.result("c1", "\n".join(service_log()) + "\n")
    for piece in ("根因是数据库连接池耗尽", "，不是数据库本身变慢。"):
        log.add(AssistantDelta(text=piece))
    log.reply(
        "根因是数据库连接池耗尽，不是数据库本身变慢。\n\n"
        "- 10:12 发布的 2.15.0（dep-913）给商品页加了「最近门店库存」，`StockLookup.nearest` 每次请求借一个连接；\n"
        "- 它在提前返回的分支里没有归还连接：日志里 `lease #… not returned` 与提前返回一一对应；\n"
        "- 10:18 起 40/40 全部占满，之后所有请求等满 5000 ms 后报 `PoolTimeout`，p99 正好停在 5 秒。\n\n"
        "建议回滚到 2.14.3。按你的规矩，我需要你先说「确认」。"
    )


def service_log() -> Iterator[str]:
    """About 12 KB of a service's log, with its one telling trace in the middle."""
    routes = (
        "GET /products/{}",
        "GET /orders/{}",
        "POST /orders",
        "GET /members/{}/cart",
        "GET /products/{}/stock",
    )
    for n in range(112):
        second = n * 4
        clock = f"10:{18 + second // 60:02d}:{second % 60:02d}.{(n * 137) % 1000:03d}"
        trace = f"{(n * 2654435761 + 97) % 2**32:08x}"
        if n == 24:
            yield from (
                f"{clock} WARN  [{trace}] pool=orders-rw lease #1187 not returned after 30 s, taken at:",
                '    File "shop/stock/nearest.py", line 38, in StockLookup.nearest',
                "      conn = self._pool.take()",
                '    File "shop/stock/nearest.py", line 41, in StockLookup.nearest',
                "      return None  # 没有开通门店的城市",
            )
        elif n > 24 and n % 3 == 0:
            yield (
                f"{clock} ERROR [{trace}] {routes[n % 5].format(70000 + n * 31)} -> 500 in {5000 + n % 7} ms "
                f"PoolTimeout: no connection within 5000 ms (in use 40/40, waiting {n // 2})"
            )
        elif n > 18 and n % 7 == 1:
            yield f"{clock} WARN  [{trace}] pool=orders-rw lease #{1187 + n} not returned after 30 s (city=延吉, stores=0)"
        else:
            yield (
                f"{clock} INFO  [{trace}] {routes[n % 5].format(70000 + n * 31)} -> 200 in {40 + (n * 53) % 160} ms "
                f"member={880000 + (n * 7919) % 9999} branch={'沪杭宁苏锡'[n % 5]}"
            )


def provider_fell_over(log: Log) -> None:
    """A failed turn. Its tool ran, so the exchange counts; its reply does not."""
    log.user(
        "Before we roll back: how many orders failed since 10:18, and did any of them charge the customer?"
    )
    log.call(
        (
            "c1",
            "sql",
            {
                "database": "orders-replica",
                "query": "select status, count(*) from orders where created_at >= '2026-06-12 10:18' group by status",
            },
        )
    )
    log.result(
        "c1",
        "status      count\npaid          1402\nfailed         618\ncancelled       23\n(3 rows, 0.08 s)",
    )
    log.asked(
        "m1",
        "(the conversation so far)",
        ModelFailed(
            category=ModelFailureCategory.UPSTREAM,
            code="overloaded",
            message="the model provider answered 529 after the stream had begun",
            retryable=True,
            upstream_status=529,
            partial=GenerationPartial(content="618 orders failed. None of them"),
        ),
    )
    log.add(AssistantDelta(text="618 orders failed. None of them"))
    log.add(AssistantReply(text="618 orders failed. None of them"), message_id="msg_05")
    log.add(
        ErrorEvent(code="model_unavailable", message="the provider broke off in mid-answer", retryable=True)
    )


def pool_exhausted(log: Log) -> None:
    """A tool that is refused, and another way around."""
    log.user("Your answer broke off. Again please: were any of the 618 charged?")
    log.call(
        (
            "c1",
            "sql",
            {"database": "payments", "query": "select count(*) from charges where order_status = 'failed'"},
        )
    )
    log.end(
        "c1",
        ToolFailed(
            category=ToolFailureCategory.DENIED,
            code="scope_denied",
            message="role oncall-agent may not read database payments (audit freeze until 2026-06-30)",
            retryable=False,
        ),
    )
    log.call(
        (
            "c2",
            "sql",
            {
                "database": "orders-replica",
                "query": "select count(*), min(id), max(id) from orders where status = 'failed' "
                "and charge_ref is not null and created_at >= '2026-06-12 10:18'",
            },
        )
    )
    log.result(
        "c2",
        "count  min                   max\n3      90071992547409931003  90071992547409931544\n(1 row, 0.11 s)",
    )
    log.reply(
        "Three of the 618 failed orders carry a charge reference, so the customer was probably charged: ids between "
        "90071992547409931003 and 90071992547409931544. I could not check the charges themselves: my role may not "
        "read `payments` during the audit freeze. Someone with access should look at these three; the other 615 "
        "stopped before the charge."
    )


def ask_before_rollback(log: Log) -> None:
    """The agent stops and waits for a word."""
    log.user("那准备回滚。先列出回滚会影响什么。")
    log.call(("c1", "rollback_preview", {"service": "orders-api", "to": "2.14.3"}))
    log.result(
        "c1",
        '{"service":"orders-api","from":"2.15.0","to":"2.14.3","replicas":12,"strategy":"rolling, 3 at a time",'
        '"migrations_to_revert":[],"flags_removed":["nearest_branch_stock"],"expected_minutes":4}',
    )
    log.reply(
        "回滚到 2.14.3 的影响：\n"
        "- 12 个副本滚动替换，每次 3 个，大约 4 分钟；\n"
        "- 没有需要撤销的数据库迁移；\n"
        "- 功能开关 `nearest_branch_stock` 消失，商品页不再显示最近门店库存；\n"
        "- uvicorn 回到 0.34.0。\n\n"
        "是否执行？请回复「确认」。",
        DoneStatus.WAITING_FOR_INPUT,
    )


def rollback(log: Log) -> None:
    """Confirmed, done, and looked at afterwards with two calls at once."""
    log.user("确认。")
    log.call(("c1", "rollback", {"service": "orders-api", "to": "2.14.3", "confirmed_by": "zhou.qing"}))
    log.stage("rollback", StageStatus.STARTED, "0/12")
    log.stage("rollback", StageStatus.STARTED, "6/12")
    log.stage("rollback", StageStatus.COMPLETED, "12/12")
    log.result("c1", "dep-914 finished: orders-api 2.14.3 on 12/12 replicas in 3 min 51 s")
    calls: list[Call] = [
        ("c2", "metrics", {"service": "orders-api", "series": ["5xx_rate", "p99_ms", "db_pool_in_use"]}),
        ("c3", "fetch_logs", {"service": "orders-api", "from": "10:49", "to": "10:51", "level": "ERROR"}),
    ]
    log.call(*calls)
    log.result("c3", "(no lines)")
    log.result(
        "c2",
        "time   5xx_rate  p99_ms  db_pool_in_use\n10:46  0.0388      5004          40/40\n10:50  0.0003       176           6/40\n",
    )
    log.reply(
        "回滚完成（dep-914，12/12，3 分 51 秒）。10:50 的 5xx 为 0.03 %，p99 为 176 ms，连接池 6/40，"
        "最近两分钟没有 ERROR 日志。"
    )


def nightly_job(log: Log) -> None:
    """A turn of audit events alone: it becomes no message."""
    log.turn += 1
    log.stage("cache-warmup", StageStatus.STARTED)
    log.custom("schedule", {"job": "cache-warmup", "skipped": True, "because": "incident open"})
    log.add(DoneEvent(status=DoneStatus.CANCELLED))


def too_much_asked(log: Log) -> None:
    """A cancelled turn: what ran stays visible, what was about to be said does not."""
    log.user("Download all of yesterday's logs of every service, I want to grep them myself.")
    log.call(("c1", "fetch_logs", {"service": "*", "from": "2026-06-11T00:00", "to": "2026-06-11T23:59"}))
    log.add(AssistantDelta(text="Starting the download of 31 services"))
    log.end(
        "c1",
        ToolFailed(
            category=ToolFailureCategory.CANCELLED,
            code="cancelled_by_user",
            message="stopped after 4 of 31 services, 2.1 GB written to scratch",
            retryable=True,
        ),
    )
    log.add(DoneEvent(status=DoneStatus.CANCELLED))


def regression_test(log: Log) -> None:
    """Code in, code out."""
    log.user("算了，不用下了。给泄漏的那个分支写一个回归测试，先写会失败的测试，再修。")
    log.call(("c1", "read_file", {"path": "shop/stock/nearest.py", "from_line": 30, "to_line": 52}))
    log.result(
        "c1",
        "30  class StockLookup:\n"
        '31      """Stock of a book in the branch that is nearest to a member."""\n'
        "32\n"
        "33      def __init__(self, pool: Pool, geo: Geo) -> None:\n"
        "34          self._pool = pool\n"
        "35          self._geo = geo\n"
        "36\n"
        "37      def nearest(self, member: Member, isbn: str) -> Stock | None:\n"
        "38          conn = self._pool.take()\n"
        "39          branch = self._geo.nearest_branch(conn, member.city)\n"
        "40          if branch is None:\n"
        "41              return None  # 没有开通门店的城市\n"
        "42          row = conn.fetch_one(STOCK_OF, branch.id, isbn)\n"
        "43          self._pool.give_back(conn)\n"
        "44          return Stock.from_row(row)\n",
    )
    log.call(
        (
            "c2",
            "write_file",
            {
                "path": "tests/stock/test_nearest_pool.py",
                "content": "from shop.stock.nearest import StockLookup\n"
                "from tests.fakes import CountingPool, NoBranches, member_in\n\n\n"
                "def test_a_city_without_branches_gives_its_connection_back() -> None:\n"
                "    pool = CountingPool(size=1)\n\n"
                '    assert StockLookup(pool, NoBranches()).nearest(member_in("延吉"), "9787020002207") is None\n\n'
                "    assert pool.in_use == 0\n",
            },
        )
    )
    log.result("c2", "wrote tests/stock/test_nearest_pool.py (9 lines)")
    log.call(("c3", "run", {"command": "pytest tests/stock -q", "timeout_s": 120}))
    log.end(
        "c3",
        ToolFailed(
            category=ToolFailureCategory.BODY_FAILURE,
            code="exit_1",
            message="1 failed, 17 passed in 2.10s: test_a_city_without_branches_gives_its_connection_back: assert 1 == 0",
            retryable=False,
        ),
    )
    log.call(
        (
            "c4",
            "edit_file",
            {
                "path": "shop/stock/nearest.py",
                "old": "        conn = self._pool.take()\n        branch = self._geo.nearest_branch(conn, member.city)\n",
                "new": "        with self._pool.lease() as conn:\n"
                "            return self._nearest(conn, member, isbn)\n\n"
                "    def _nearest(self, conn: Connection, member: Member, isbn: str) -> Stock | None:\n"
                "        branch = self._geo.nearest_branch(conn, member.city)\n",
            },
        ),
    )
    log.result("c4", "1 replacement in shop/stock/nearest.py")
    log.call(("c5", "run", {"command": "pytest tests/stock -q", "timeout_s": 120}))
    log.result(
        "c5",
        "..................                                                       [100%]\n18 passed in 2.04s\n",
    )
    log.reply(
        "先红后绿：\n"
        "1. `tests/stock/test_nearest_pool.py` 用只有一个连接的池查询没有门店的城市，修之前失败（`in_use` 为 1）；\n"
        "2. `StockLookup.nearest` 改为 `with self._pool.lease()`，任何分支都会归还连接；\n"
        "3. tests/stock 18 个测试全部通过。尚未提交，也没有部署。"
    )


def review_three_files(log: Log) -> None:
    """Three reads at once, answered backwards."""
    log.user(
        "Look for the same pattern elsewhere: take() without a with. Three files come to mind: export, cart, search."
    )
    calls: list[Call] = [
        ("c1", "grep", {"pattern": r"_pool\.take\(\)", "path": "shop/orders/export.py", "context": 6}),
        ("c2", "grep", {"pattern": r"_pool\.take\(\)", "path": "shop/cart/merge.py", "context": 6}),
        ("c3", "grep", {"pattern": r"_pool\.take\(\)", "path": "shop/search/suggest.py", "context": 6}),
    ]
    log.asked(
        "m1", "(the conversation so far)", answered("I will look at the three files.", calls, 9120, 141)
    )
    log.call(*calls)
    log.result("c3", "(no match)")
    log.result(
        "c2",
        "22      def merge(self, guest: Cart, member: Cart) -> Cart:\n"
        "23          conn = self._pool.take()\n"
        "24          try:\n"
        "25              return self._merged(conn, guest, member)\n"
        "26          finally:\n"
        "27              self._pool.give_back(conn)\n",
    )
    log.result(
        "c1",
        "71      def rows(self, day: date) -> Iterator[Row]:\n"
        "72          conn = self._pool.take()\n"
        "73          for row in conn.stream(ORDERS_OF_DAY, day):\n"
        "74              yield Row.of(row)\n"
        "75          self._pool.give_back(conn)\n",
    )
    log.reply(
        "One more leak, one clean, one without the pattern:\n\n"
        "- `shop/orders/export.py:72` leaks when the caller stops reading early or a row fails to parse: the "
        "`give_back` on line 75 is never reached. Same cure: `with self._pool.lease()`.\n"
        "- `shop/cart/merge.py:23` is right (`try`/`finally`), only wordier than it must be.\n"
        "- `shop/search/suggest.py` does not use the pool.\n\n"
        "I have changed nothing in these files."
    )


def migration_plan(log: Log) -> None:
    """A plan that the host keeps as data."""
    log.user("给 export 也修掉，然后写个计划：把 take()/give_back() 从公开接口里去掉，只留 lease()。")
    plan: object = {
        "goal": "Pool offers lease() only",
        "steps": [
            {"id": 1, "what": "export.py: use lease()", "risk": "low"},
            {"id": 2, "what": "merge.py: use lease()", "risk": "low"},
            {"id": 3, "what": "make take/give_back private", "risk": "medium", "after": [1, 2]},
            {"id": 4, "what": "lint rule against _pool._take", "risk": "low", "after": [3]},
        ],
        "not_touched": ["shop/payment/"],
    }
    log.add(PlanReady(plan=free(plan)))
    log.stage("step 1", StageStatus.STARTED)
    log.call(
        (
            "c1",
            "edit_file",
            {
                "path": "shop/orders/export.py",
                "old": "        conn = self._pool.take()\n        for row in conn.stream(ORDERS_OF_DAY, day):\n"
                "            yield Row.of(row)\n        self._pool.give_back(conn)\n",
                "new": "        with self._pool.lease() as conn:\n"
                "            for row in conn.stream(ORDERS_OF_DAY, day):\n                yield Row.of(row)\n",
            },
        ),
        ("c2", "grep", {"pattern": r"\.(take|give_back)\(", "path": "shop/", "context": 0}),
    )
    log.result(
        "c2",
        "shop/cart/merge.py:23\nshop/cart/merge.py:27\nshop/db/pool.py:18\nshop/db/pool.py:44\nshop/db/pool.py:61\n"
        "shop/payment/ledger.py:90\nshop/payment/ledger.py:97\n",
    )
    log.result("c1", "1 replacement in shop/orders/export.py")
    log.stage("step 1", StageStatus.COMPLETED)
    log.reply(
        "export.py 已修。计划四步：① export 改用 `lease()`（已完成）② merge 改用 `lease()` ③ 把 `take`/`give_back` "
        "改为私有 ④ 加 lint 规则。\n\n注意：`shop/payment/ledger.py` 第 90、97 行也在用 `take`/`give_back`，"
        "它在审计冻结范围内，所以第 ③ 步要等到月底；在那之前保留一个标了弃用的别名。"
    )


def slow_query(log: Log) -> None:
    """Numbers and a query plan: dense text, which byte heuristics under-count."""
    log.user(
        "While you are there: the nearest-branch query itself, is it fast enough to come back in 2.15.1?"
    )
    log.call(
        (
            "c1",
            "sql",
            {
                "database": "orders-replica",
                "query": "explain (analyze, buffers) select b.id from branches b where b.open "
                "order by b.location <-> (select location from cities where name = '苏州') limit 1",
            },
        ),
        (
            "c2",
            "sql",
            {
                "database": "orders-replica",
                "query": "select indexdef from pg_indexes where tablename = 'branches'",
            },
        ),
    )
    log.result(
        "c2",
        "indexdef\nCREATE UNIQUE INDEX branches_pkey ON public.branches USING btree (id)\n(1 row, 0.01 s)",
    )
    log.result(
        "c1",
        "Limit  (cost=412.77..412.78 rows=1 width=12) (actual time=9.412..9.414 rows=1 loops=1)\n"
        "  Buffers: shared hit=318\n"
        "  InitPlan 1\n"
        "    ->  Seq Scan on cities  (cost=0.00..31.25 rows=1 width=32) (actual time=0.211..0.388 rows=1 loops=1)\n"
        "          Filter: (name = '苏州'::text)\n"
        "          Rows Removed by Filter: 1499\n"
        "  ->  Sort  (cost=381.52..389.27 rows=3100 width=12) (actual time=9.410..9.411 rows=1 loops=1)\n"
        "        Sort Key: ((b.location <-> $0))\n"
        "        Sort Method: top-N heapsort  Memory: 25kB\n"
        "        ->  Seq Scan on branches b  (cost=0.00..366.02 rows=3100 width=12) (actual time=0.019..8.037 rows=3088 loops=1)\n"
        "              Filter: open\n"
        "              Rows Removed by Filter: 41\n"
        "Planning Time: 0.311 ms\n"
        "Execution Time: 9.466 ms\n",
    )
    log.reply(
        "9.5 ms per lookup: fine once a page, not fine in a list of 40 books. It sorts all 3,088 open branches since "
        "`branches` has no index but its primary key. A GiST index on `location where open` turns it into an index "
        "scan (well under 1 ms); and the answer depends on the city only, so it can be cached per city. I would ship "
        "2.15.1 with both, behind the flag."
    )


def checkpoint(log: Log) -> None:
    """A turn that the host paused in order."""
    log.user("先停一下，我去开会。把现在的状态存好。")
    log.call(("c1", "git_status", {"short": True}))
    log.result(
        "c1", " M shop/orders/export.py\n M shop/stock/nearest.py\n?? tests/stock/test_nearest_pool.py\n"
    )
    log.custom("checkpoint", {"branch": "main", "dirty": 3, "head": "7d0a4be", "open_questions": 2})
    log.reply(
        "状态：线上是 2.14.3，稳定。工作区有三处未提交的改动（export、nearest、新测试）。待定两件事："
        "三笔可能已扣款的订单谁来查；2.15.1 是否带索引和按城市缓存。",
        DoneStatus.CHECKPOINTED,
    )


def postmortem(log: Log) -> None:
    """A long answer in Chinese, after a look at the clock of the incident."""
    log.user("回来了。写一份事故复盘的草稿，给全公司看的，不点名。")
    log.call(
        ("c1", "incident_timeline", {"incident": "INC-2207"}),
        ("c2", "metrics", {"service": "orders-api", "series": ["failed_orders_total"]}),
    )
    log.result("c2", "time   failed_orders_total\n10:18     12\n10:30    341\n10:46    618\n10:50    618\n")
    log.result(
        "c1",
        "10:12 dep-913 finished (2.15.0)\n10:20 alert orders-api-5xx fired\n10:22 on-call acknowledged\n"
        "10:31 cause found\n10:44 rollback confirmed\n10:48 dep-914 finished (2.14.3)\n10:50 alert resolved\n",
    )
    log.reply(
        "## 事故复盘（草稿）：6 月 12 日订单服务 5xx\n\n"
        "**影响**：10:18 至 10:48，约 30 分钟，618 笔下单失败，其中 3 笔可能已经扣款，正在人工核对。\n\n"
        "**经过**：10:12 发布 2.15.0；10:20 告警；10:31 找到原因；10:44 确认回滚；10:48 回滚完成；10:50 告警解除。\n\n"
        "**原因**：新功能「最近门店库存」在没有门店的城市会提前返回，而提前返回的分支没有归还数据库连接。"
        "40 个连接在 6 分钟内被占满，之后每个请求等满 5 秒失败。\n\n"
        "**为什么没有更早发现**：测试只覆盖了有门店的城市；连接池没有「借出超过 30 秒」的告警，只有日志。\n\n"
        "**改进**：① 只提供会自动归还的 `lease()`，去掉手动借还；② 连接池占用超过 80 % 持续 1 分钟即告警；"
        "③ 新功能默认在开关之后，先放 5 % 流量；④ 回归测试已补。"
    )


def status_page(log: Log) -> None:
    """The last turn: short, and what the next request will build on."""
    log.user("Now three sentences in English for the public status page. No numbers of orders, no internals.")
    log.asked("m1", "(the conversation so far)", answered("Between 10:18 and 10:48 …", [], 12480, 71))
    log.add(AssistantDelta(text="Between 10:18 and 10:48 (UTC+8)"))
    log.reply(
        "Between 10:18 and 10:48 (UTC+8) on 12 June some customers could not place orders in our shop. The cause was a "
        "fault in a release of that morning, which we have taken back; ordering has worked normally since. If you "
        "were charged without receiving a confirmation, you need not do anything: we are checking these payments and "
        "will write to you."
    )


if __name__ == "__main__":
    main()
