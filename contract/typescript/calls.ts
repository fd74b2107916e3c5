// Fifty calls to a real hub through types that were generated from its description; a refusal or a wrong shape ends it.
import createClient from "openapi-fetch";
import type { paths } from "./generated/hub.js";

const env = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; run this with contract/with_hub.py`);
  return value;
};

const connect = (key: string) =>
  createClient<paths>({ baseUrl: env("MOOT_URL"), headers: { Authorization: `Bearer ${key}` } });
const hub = connect(env("MOOT_KEY"));
const agentHub = connect(env("MOOT_AGENT_KEY"));
const workspace = env("MOOT_WORKSPACE");
const agent = env("MOOT_AGENT");

let calls = 0;
/** What a call gave; whatever is no answer of the contract is an end. */
async function ok<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await answer;
  calls += 1;
  if (data === undefined) throw new Error(`call ${calls}, ${response.url}: ${response.status} ${JSON.stringify(error)}`);
  return data;
}
function is(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(`call ${calls}: ${what}`);
}

const at = { params: { path: { workspace } } };
const setup = await ok(hub.GET("/v1/setup"));
is(!setup.needs_owner, "the hub has an owner");
await ok(hub.GET("/v1/auth/providers"));
const session = await ok(hub.POST("/v1/auth/login", { body: { email: "ann@example.org", password: "correct horse battery" } }));
is(session.workspace_id === workspace, "the log-in leads to the workspace");
const me = await ok(hub.GET("/v1/members/me"));
is(me.id === session.member_id, "who calls is who logged in");
await ok(hub.GET("/v1/status"));
const [first] = await ok(hub.GET("/v1/workspaces"));
is(first?.id === workspace, "the workspace is listed");
await ok(hub.GET("/v1/workspaces/{workspace}", at));
await ok(hub.PATCH("/v1/workspaces/{workspace}", { ...at, body: { name: "the workspace" } }));
await ok(hub.GET("/v1/workspaces/{workspace}/usage", at));
await ok(hub.GET("/v1/workspaces/{workspace}/members", at));
await ok(hub.GET("/v1/workspaces/{workspace}/members/{member}", { params: { path: { workspace, member: "me" } } }));
const helper = await ok(hub.POST("/v1/workspaces/{workspace}/members", { ...at, body: { name: "helper", type: "agent" } }));
is(typeof helper.api_key === "string", "a new agent has a key");
await ok(hub.GET("/v1/workspaces/{workspace}/agents", at));
await ok(hub.GET("/v1/agents/{agent}/metrics", { params: { path: { agent } } }));

const channel = (await ok(hub.POST("/v1/workspaces/{workspace}/channels", { ...at, body: { name: "typed" } }))).id;
const room = { params: { path: { channel } } };
const both = { params: { path: { workspace, channel } } };
await ok(hub.GET("/v1/workspaces/{workspace}/channels", at));
await ok(hub.GET("/v1/workspaces/{workspace}/channels/search", { params: { path: { workspace }, query: { q: "typ" } } }));
await ok(hub.PATCH("/v1/workspaces/{workspace}/channels/{channel}", { ...both, body: { topic: "types" } }));
const admitted = await ok(
  hub.POST("/v1/workspaces/{workspace}/channels/{channel}/members", { ...both, body: { member_id: agent } }),
);
is(admitted.member_count === 2, "the agent is in the channel");
const said = await ok(hub.POST("/v1/channels/{channel}/messages", { ...room, body: { content: "hello @codebot" } }));
const message = said.id;
const one = { params: { path: { message } } };
const [newest] = await ok(hub.GET("/v1/channels/{channel}/messages", { params: { path: { channel }, query: { limit: 1 } } }));
is(newest?.id === message, "the newest message is the one that was sent");
await ok(hub.GET("/v1/messages/{message}", one));
await ok(hub.PATCH("/v1/messages/{message}", { ...one, body: { content: "hello again @codebot" } }));
await ok(hub.GET("/v1/messages/{message}/edits", one));
await ok(hub.GET("/v1/messages/{message}/thread", one));
await ok(hub.POST("/v1/messages/{message}/reactions", { ...one, body: { emoji: "👍" } }));
await ok(hub.GET("/v1/messages/{message}/reactions", one));
await ok(hub.POST("/v1/channels/{channel}/pins", { ...room, body: { message_id: message } }));
await ok(hub.GET("/v1/channels/{channel}/pins", room));
await ok(hub.GET("/v1/search", { params: { query: { q: "hello" } } }));
await ok(hub.POST("/v1/channels/{channel}/read", room));
await ok(hub.PATCH("/v1/channels/{channel}/notification-preference", { ...room, body: { preference: "mentions" } }));
await ok(hub.GET("/v1/channels/{channel}/deliveries", room));
await ok(hub.GET("/v1/channels/{channel}/runs", room));
await ok(hub.POST("/v1/channels/{channel}/wake-preview", { ...room, body: { content: "@codebot" } }));

const task = (await ok(hub.POST("/v1/workspaces/{workspace}/tasks", { ...at, body: { title: "Type it", priority: "high" } }))).id;
await ok(hub.GET("/v1/workspaces/{workspace}/tasks", { params: { path: { workspace }, query: { status: "todo" } } }));
const claimed = await ok(hub.POST("/v1/tasks/{task}/claim", { params: { path: { task } } }));
is(claimed.assigned_to === me.id, "the task is claimed");
await ok(hub.PATCH("/v1/tasks/{task}", { params: { path: { task } }, body: { status: "done", assigned_to: null } }));
await ok(hub.DELETE("/v1/tasks/{task}", { params: { path: { task } } }));

const own = { params: { path: { agent } } };
const [item] = await ok(agentHub.GET("/v1/agents/{agent}/inbox", own));
is(item !== undefined, "the agent was mentioned");
await ok(agentHub.GET("/v1/agents/{agent}/inbox/count", own));
await ok(agentHub.POST("/v1/agents/{agent}/inbox/{item}/ack", { params: { path: { agent, item: item.id } } }));
await ok(agentHub.POST("/v1/agents/{agent}/memory", { ...own, body: { key: "standup", value: "Tuesday" } }));
await ok(agentHub.GET("/v1/agents/{agent}/memory", own));
const draft = (await ok(agentHub.POST("/v1/agents/{agent}/drafts", { ...own, body: { channel_id: channel, content: "hi" } }))).id;
await ok(agentHub.POST("/v1/drafts/{draft}/send", { params: { path: { draft } } }));
const asked = await ok(
  agentHub.POST("/v1/workspaces/{workspace}/approvals", { ...at, body: { action: "deploy", channel_id: channel } }),
);
const decided = await ok(
  hub.PATCH("/v1/approvals/{approval}", { params: { path: { approval: asked.id } }, body: { approved: true } }),
);
is(decided.status === "approved", "the question is decided");
await ok(hub.GET("/v1/notifications"));
await ok(hub.GET("/v1/notifications/unread-count"));

const missing = await hub.GET("/v1/tasks/{task}", { params: { path: { task } } });
is(missing.error?.code === "NOT_FOUND", "a refusal has the shape of refusals");
is(calls >= 50, `only ${calls} calls`);
console.log(`${calls} calls through the generated TypeScript client`);
