/** Generated from `docs/openapi.json` by `make openapi`: change the hub, not this file. */

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Acked: {
            item_id: string;
            /** @example acked */
            status: string;
        };
        /** @enum {string} */
        ActionPhase: "started" | "updated" | "completed";
        AdmitBody: {
            /**
             * @description Left out, the caller joins.
             * @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2
             */
            member_id?: string | null;
        };
        /** @description An agent in a list. */
        Agent: {
            capabilities: string[];
            id: string;
            /** @example general */
            name: string;
            online: boolean;
            runtime?: components["schemas"]["Runtime"];
            status: components["schemas"]["Presence"];
            type: components["schemas"]["MemberKind"];
            /** @description The name of the workspace. */
            workspace: string;
            /** @example ws_01JCZ8Q3V7K5R2M9X4T6B8C0D1 */
            workspace_id: string;
        };
        /** @description What an agent has to do and has done, as far as the caller may see it. */
        AgentMetrics: {
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            agent_id: string;
            approvals_pending: number;
            channels: number;
            created_at: components["schemas"]["Millis"];
            /** @example general */
            name: string;
            online: boolean;
            status: components["schemas"]["Presence"];
            tasks_done: number;
            tasks_open: number;
        };
        AgentState: {
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            agent_id: string;
            /** @example general */
            name: string;
            presence: components["schemas"]["Presence"];
            /**
             * @description What was done, or how the agent is now.
             * @example online
             */
            status: string;
        };
        /** @description A question to people. `shown` is how every surface puts it; `action` and `payload` are as the agent gave them. */
        Approval: {
            action: string;
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            agent_id: string;
            asker_id: string | null;
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string | null;
            created_at: components["schemas"]["Millis"];
            expires_at: components["schemas"]["Millis"];
            fingerprint: string | null;
            id: string;
            kind: components["schemas"]["ApprovalKind"];
            /** @example {"version":"1.2.0"} */
            payload: string;
            review_note: string | null;
            reviewed_at: components["schemas"]["Millis"] | null;
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            reviewer_id: string | null;
            /** @example run_01JCZ8Q3V7K5R2M9X4T6B8C0D7 */
            run_id: string | null;
            scope: components["schemas"]["ApprovalScope"];
            shown: components["schemas"]["Shown"];
            status: components["schemas"]["ApprovalStatus"];
            used_at: components["schemas"]["Millis"] | null;
            /** @example ws_01JCZ8Q3V7K5R2M9X4T6B8C0D1 */
            workspace_id: string;
        };
        ApprovalBody: {
            /** @example deploy_to_production */
            action: string;
            /**
             * @description The channel whose members are asked; left out, everybody in the workspace is.
             * @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4
             */
            channel_id?: string | null;
            /** @description Finds the same question asked again; it is the same only if `action` and `payload` are, too. */
            fingerprint?: string | null;
            /** @description `action` (the default) or `permission`. */
            kind?: components["schemas"]["AskedKind"];
            /**
             * @description The message that woke the agent: while that wake is open, whoever caused it may decide. Any other message names nobody.
             * @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5
             */
            message_id?: string | null;
            /**
             * @description A text, usually JSON; any other JSON is kept as its text.
             * @example {"version":"1.2.0"}
             */
            payload?: unknown;
            /** @example run_01JCZ8Q3V7K5R2M9X4T6B8C0D7 */
            run_id?: string | null;
        };
        /** @enum {string} */
        ApprovalKind: "action" | "permission" | "brake";
        /** @enum {string} */
        ApprovalScope: "once" | "run";
        /** @enum {string} */
        ApprovalStatus: "pending" | "approved" | "denied";
        /** @description A question as the caller sees it. */
        ApprovalView: components["schemas"]["Approval"] & {
            /** @description Who may decide it while it is open, at most 20; only of one that was asked for by its id. */
            decider_ids?: string[];
            /** @description Whether it is open and the caller may decide it. */
            may_decide: boolean;
        };
        /**
         * @description What an agent may ask of its own accord.
         * @enum {string}
         */
        AskedKind: "action" | "permission";
        /** @description One attempt in full. */
        Attempt: {
            client: string;
            delivered_at: components["schemas"]["Millis"];
            direct: boolean;
            /** @description Why it did not take the sentence; as long as it did not refuse, why it was chosen. */
            reason?: string;
            reject_reason?: string;
            /** @description Everything the client said to it: `type` is `ack`, `reject` or `notification`, or for an agent of the hub `reply`. */
            responses: Record<string, unknown>[];
            routing_reason?: string;
            status: components["schemas"]["AttemptStatus"];
        };
        /** @enum {string} */
        AttemptStatus: "delivered" | "acked" | "rejected" | "timeout";
        AvatarBody: {
            /**
             * @description An image that was uploaded before.
             * @example file_01JCZ8Q3V7K5R2M9X4T6B8C0D6
             */
            file_id: string;
        };
        BackupMade: {
            created_at: components["schemas"]["Millis"];
            /** @description The file below `backups/` in the data folder. */
            file: string;
            /** Format: int64 */
            size: number;
            /** @example ok */
            status: string;
        };
        Call: {
            answered_at: components["schemas"]["Millis"] | null;
            callee_id: string;
            caller_id: string;
            created_at: components["schemas"]["Millis"];
            ended_at: components["schemas"]["Millis"] | null;
            id: string;
            status: components["schemas"]["CallStatus"];
            type: string;
            /** @example ws_01JCZ8Q3V7K5R2M9X4T6B8C0D1 */
            workspace_id: string;
        };
        /** @enum {string} */
        CallStatus: "ringing" | "answered" | "ended" | "missed";
        Channel: {
            archived: boolean;
            created_at: components["schemas"]["Millis"];
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            created_by: string;
            id: string;
            /** @description For the one who asks: whether they are in it, and what they have not read. */
            is_member: boolean;
            member_count: number;
            member_ids: string[];
            /** @example general */
            name: string;
            notification_preference: components["schemas"]["NotifyPreference"];
            /** Format: int64 */
            read_seq: number;
            /** Format: int64 */
            room_version: number;
            /**
             * Format: int64
             * @description Position of the newest stored event and number of messages so far.
             */
            seq: number;
            /** @example what everybody should know */
            topic: string;
            type: components["schemas"]["ChannelKind"];
            /** Format: int64 */
            unread_count: number;
            /** @example ws_01JCZ8Q3V7K5R2M9X4T6B8C0D1 */
            workspace_id: string;
        };
        /** @description What is left out stays as it is. */
        ChannelChange: {
            /** @example general */
            name?: string | null;
            /** @example what everybody should know */
            topic?: string | null;
        };
        /** @enum {string} */
        ChannelKind: "channel" | "private" | "dm" | "group_dm";
        ChannelPreference: {
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string;
            preference: components["schemas"]["NotifyPreference"];
        };
        /** @enum {string} */
        ContentType: "text" | "markdown";
        Count: {
            /** Format: int64 */
            count: number;
        };
        Credentials: {
            keys: components["schemas"]["KeyObject"][];
            /** @description The newest hundred; all end with their 24 hours or with the password. */
            sessions: components["schemas"]["SessionObject"][];
        };
        /** @description A local process that carries agents. */
        Daemon: {
            agent_count: number;
            agents: components["schemas"]["DaemonAgent"][];
            id: string;
            /**
             * @description The member whose connection it is, or whose machine.
             * @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2
             */
            member_id: string;
            /**
             * @description The machine, or the member whose connection it is.
             * @example general
             */
            name: string;
            /**
             * Format: date-time
             * @description As text (`2026-01-31T12:00:00.000Z`): the terminal client reads nothing else here.
             */
            started_at: string;
            /** @example online */
            status: string;
        };
        DaemonAgent: {
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            agent_id: string;
            /** @example general */
            name: string;
        };
        Decision: {
            approved: boolean;
            /** @example go ahead */
            note?: string | null;
            /** @description `once` (the default) or `run`: the same question is not asked again in the same run. */
            scope?: components["schemas"]["ApprovalScope"];
        };
        /** @description A wake of an agent and what came of it. */
        Delivery: {
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            agent_id: string;
            agent_name: string;
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string | null;
            created_at: components["schemas"]["Millis"];
            /** Format: int64 */
            depth: number;
            expires_at: components["schemas"]["Millis"];
            id: string;
            message_ids: string[];
            /** @description `mention`, `dm`, `thread_reply`, `task_assigned` or `manual`. */
            reason: components["schemas"]["WakeReason"];
            reply_id: string | null;
            root_id: string;
            /** @example run_01JCZ8Q3V7K5R2M9X4T6B8C0D7 */
            run_id: string | null;
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            sender_id: string;
            /** @description `queued`, `leased`, `admitted`, then `answered`, `passed`, `failed`, `expired`, `cancelled` or `suppressed`. */
            state: components["schemas"]["DeliveryState"];
            task_id?: string;
            /** @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5 */
            thread_id: string | null;
            updated_at: components["schemas"]["Millis"];
            /** @example somebody else answered */
            why: string | null;
        };
        /** @enum {string} */
        DeliveryState: "queued" | "leased" | "admitted" | "answered" | "passed" | "failed" | "expired" | "cancelled" | "suppressed";
        DirectBody: {
            /** @description Everybody in it; the caller belongs to it, named or not. */
            member_ids: string[];
        };
        /** @description An operation for whoever serves a voice channel. */
        DispatchBody: components["schemas"]["PlaceBody"] & {
            /** @description Passed to the agent with `guildId`, `voiceChannelId`, `actorUserId` and `ownerUserId` added where they are missing. */
            data?: Record<string, unknown> | null;
            /** @example play */
            op: string;
        };
        Done: {
            /** @description What it happened to. */
            id?: string;
            /** @example ok */
            status: string;
        };
        /** @description A held reply. */
        Draft: {
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            agent_id: string;
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string;
            /** @example hello @codebot */
            content: string;
            created_at: components["schemas"]["Millis"];
            expires_at: components["schemas"]["Millis"];
            id: string;
            /** Format: int64 */
            room_version: number;
            status: components["schemas"]["DraftStatus"];
            /** @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5 */
            thread_id: string | null;
        };
        DraftBody: {
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string;
            /** @example hello @codebot */
            content: string;
            /** @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5 */
            thread_id?: string | null;
        };
        /** @description Whether a draft still fits the conversation. */
        DraftCheck: {
            /** Format: int64 */
            current_version: number;
            draft_id: string;
            /** Format: int64 */
            draft_version: number;
            /** @description What was said meanwhile, when the draft is stale: the newest five, oldest first. */
            recent_messages: components["schemas"]["Message"][];
            valid: boolean;
            /** Format: int64 */
            version_delta: number;
        };
        DraftSent: {
            draft_id: string;
            message: components["schemas"]["Message"];
            /** @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5 */
            message_id: string;
            /** @example sent */
            status: string;
        };
        /** @enum {string} */
        DraftStatus: "held" | "sent" | "expired" | "cancelled";
        DriveFile: {
            content_type: string;
            filename: string;
            /**
             * @description The link, ready to be put into a message.
             * @example [cat.png](/drive.bin/file_01J….png)
             */
            markdown: string;
            /** Format: int64 */
            size: number;
            uid: string;
            /**
             * @description Where it is, relative to the hub: what a message links to.
             * @example /drive.bin/file_01J….png
             */
            url: string;
        };
        Edit: {
            edited_at: components["schemas"]["Millis"];
            id: string;
            /** @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5 */
            message_id: string;
            previous_content: string;
        };
        EditBody: {
            /** @example hello @codebot */
            content: string;
        };
        Engine: {
            /** @description Whether agents made of it can ask before they act; else they take only the policy `dangerously-allow-all`. */
            asks: boolean;
            /** @description The program that is started. */
            command: string;
            found: boolean;
            hint: string | null;
            id: components["schemas"]["EngineName"];
            /**
             * @description The command that installs it on the hub's machine, where it is missing and can be installed.
             * @example moot engines install claude
             */
            install?: string;
            /**
             * @description What its program says about its login: `in`, `out`, `free` (nobody is, but some models need none) or `unknown`.
             * @example in
             */
            login: string;
            /** @description What else is to be known, such as that nobody has tried this version. */
            notes: string[];
            /** @description Why it cannot be used, or would get no answer, and what helps. */
            problem: string | null;
            version: string | null;
        };
        /** @enum {string} */
        EngineName: "claude" | "codex" | "opencode" | "pi" | "script";
        EngineTest: {
            answer?: string;
            error?: string;
            ok: boolean;
            /** Format: int64 */
            took_ms: number;
        };
        /** @description The body of every refusal. */
        Error: {
            /**
             * @description The stable code for programs.
             * @example NOT_FOUND
             */
            code: string;
            /** @description The sentence for people. */
            error: string;
            /** @description The same sentence again, with what else is known. */
            message: string;
        };
        FailBody: {
            /**
             * @description What the sender is told.
             * @example somebody else answered
             */
            why: string;
        };
        /** @description What there is in a workspace, and how the hub is. */
        Figures: {
            agents: number;
            agents_online: number;
            channels: number;
            /** @description Logged-in connections. */
            connections: number;
            members: number;
            /**
             * Format: int64
             * @description Sent so far.
             */
            messages: number;
            /** Format: int64 */
            uptime_s: number;
            version: string;
        };
        File: {
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string | null;
            content_type: string;
            created_at: components["schemas"]["Millis"];
            filename: string;
            id: string;
            /** Format: int64 */
            size: number;
            uploaded_by: string;
            /** @example ws_01JCZ8Q3V7K5R2M9X4T6B8C0D1 */
            workspace_id: string;
        };
        /** @description One changed file of a run. */
        FileChange: {
            /**
             * Format: int64
             * @description Lines.
             */
            added: number;
            kind: components["schemas"]["FileChangeKind"];
            path: string;
            /** Format: int64 */
            removed: number;
        };
        /** @enum {string} */
        FileChangeKind: "added" | "modified" | "deleted" | "renamed";
        HeartbeatBody: {
            /** @description The agent it is about, by name or id; the caller when left out. How another is follows from its connections alone. */
            agent?: string | null;
            status?: components["schemas"]["SaidPresence"] | null;
        };
        HostBody: {
            capabilities?: string[];
            /** @description Where it is from the start; left out: every open channel. */
            channel_ids?: string[] | null;
            /** @description Commands and tools it may never use, such as `git push` or `rm -rf *`; nobody is asked about them. */
            deny?: string[];
            /** @description One of `/v1/engines`. */
            engine: components["schemas"]["EngineName"];
            model?: string | null;
            /**
             * @description One word, unique in the workspace.
             * @example claude
             */
            name: string;
            /** @description `ask` (default), `ask-commands`, `accept-edits` or `dangerously-allow-all`; an engine that cannot ask takes only the last. */
            policy?: components["schemas"]["Policy"];
            /** @description The name of a configured project, or a folder of the hub's machine. */
            project?: string | null;
            system_prompt?: string | null;
            /** @description Give each thread a git work tree and a branch of its own. */
            worktrees?: boolean;
        };
        HostedAgent: {
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            agent_id: string;
            /** @description What it may never do, and nobody is asked about. */
            deny: string[];
            engine: string;
            /** @example general */
            name: string;
            policy: components["schemas"]["Policy"];
            problem?: string;
            /** @description This, `deny` and `problem` are for those who may host agents. */
            project: string | null;
            state: components["schemas"]["HostedState"];
            /** @description Whether each thread has a git work tree of its own. */
            worktrees: boolean;
        };
        /** @enum {string} */
        HostedState: "running" | "stopped" | "failed";
        /** @enum {string} */
        InputMethod: "text" | "voice";
        /** @description What an invitation is for. */
        Invitation: {
            expires_at: components["schemas"]["Millis"];
            role: components["schemas"]["Role"];
            workspace: components["schemas"]["InvitedTo"];
        };
        InviteBody: {
            /** @description Where the newcomer will be a member; left out: every open channel there is then. */
            channel_ids?: string[];
            role?: components["schemas"]["Role"] | null;
        };
        /** @description An invitation without its code. */
        InviteObject: {
            channel_ids: string[];
            created_at: components["schemas"]["Millis"];
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            created_by: string;
            expires_at: components["schemas"]["Millis"];
            id: string;
            role: components["schemas"]["Role"];
        };
        InvitedTo: {
            id: string;
            /** @example general */
            name: string;
            /** @example ann */
            slug: string;
        };
        /** @description A named note in an agent's own workspace. */
        Item: {
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            agent_id: string;
            /** @example hello @codebot */
            content: string;
            created_at: components["schemas"]["Millis"];
            /** @example what changed, in plain words */
            description: string;
            id: string;
            /** @example general */
            name: string;
            /** @example default */
            namespace: string;
            tags: string[];
            updated_at: components["schemas"]["Millis"];
        };
        /** @description What is left out stays as it is. */
        ItemBody: {
            /** @example hello @codebot */
            content?: string | null;
            /** @example what changed, in plain words */
            description?: string | null;
            /** @description The item to change; left out, the one of this name, else a new one. */
            item_id?: string | null;
            /** @example general */
            name?: string;
            /**
             * @description `default` when left out.
             * @example default
             */
            namespace?: string | null;
            tags?: string[] | null;
        };
        Join: {
            /** @example run_01JCZ8Q3V7K5R2M9X4T6B8C0D7 */
            run_id: string;
        };
        JoinBody: {
            /**
             * @description The last part of the invitation's address.
             * @example 5f0c9b27ae1d4c83a6f2e9b07d51c4aa
             */
            code: string;
            /** @example ann@example.org */
            email?: string | null;
            /** @example bob */
            name: string;
            /**
             * @description At least 8 characters.
             * @example correct horse battery
             */
            password: string;
        };
        /** @enum {string} */
        KeyKind: "api_key" | "machine" | "provision" | "telegram";
        KeyObject: {
            /** @description 0 where it was not noted. */
            created_at: components["schemas"]["Millis"];
            id: string;
            kind: components["schemas"]["KeyKind"];
            /** @example general */
            name: string;
        };
        LinkBody: {
            /** @example guild-1 */
            guild_id: string;
            /** @example voice-1 */
            voice_channel_id: string;
        };
        /** @description A linked channel, or the voice channel itself. */
        ListenBody: {
            /**
             * @description A channel that is linked to a voice channel.
             * @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4
             */
            channel_id?: string | null;
            /** @example guild-1 */
            guild_id?: string | null;
            /** @example voice-1 */
            voice_channel_id?: string | null;
        };
        /** @description A page to open, for whoever asked for it. */
        ListenLink: {
            /** Format: int64 */
            expires_at: number;
            /** @example guild-1 */
            guild_id: string;
            /**
             * @description The key alone: `/listen/{guild}/{channel}/feed?key=…`.
             * @example standup
             */
            key: string;
            /** @description The page, with the key in it. */
            url: string;
            /** @example voice-1 */
            voice_channel_id: string;
        };
        /** @description Either `email` or `name`. */
        LoginBody: {
            /** @example ann@example.org */
            email?: string | null;
            /**
             * @description The name in the workspace; `name@slug` when several workspaces have somebody of that name.
             * @example general
             */
            name?: string | null;
            /** @example correct horse battery */
            password: string;
        };
        /** @description A machine without its key. */
        Machine: {
            /** @description The agents it carries, or carried last. */
            agents: components["schemas"]["MachineAgent"][];
            created_at: components["schemas"]["Millis"];
            id: string;
            last_seen_at: components["schemas"]["Millis"] | null;
            /** @example general */
            name: string;
            online: boolean;
            owner_id: string;
        };
        MachineAgent: {
            id: string;
            /** @example general */
            name: string;
        };
        MachineBody: {
            /**
             * @description What its owner calls it.
             * @example laptop
             */
            name: string;
        };
        /** @description A person or an agent. The email is shown to the member itself only. */
        Member: {
            avatar_file_id?: string;
            created_at: components["schemas"]["Millis"];
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            created_by?: string;
            /** @example ann@example.org */
            email?: string;
            id: string;
            /** @description The hub's own daemon, which carries agents and is none; left out for everybody else. */
            is_daemon?: boolean;
            /** @example general */
            name: string;
            nick: string | null;
            online: boolean;
            role: components["schemas"]["Role"];
            role_card?: components["schemas"]["RoleCard"];
            runtime?: components["schemas"]["Runtime"];
            status: components["schemas"]["Presence"];
            type: components["schemas"]["MemberKind"];
            /** @example ws_01JCZ8Q3V7K5R2M9X4T6B8C0D1 */
            workspace_id: string;
        };
        /** @description What is left out stays as it is. */
        MemberChange: {
            /** @example ann@example.org */
            email?: string | null;
            /** @example general */
            name?: string | null;
            /** @description Empty takes it away. */
            nick?: string | null;
            role?: components["schemas"]["Role"] | null;
            role_card?: components["schemas"]["RoleCard"] | null;
        };
        /** @enum {string} */
        MemberKind: "human" | "agent";
        /** @enum {string} */
        MemberRight: "change" | "change_role" | "replace_key" | "remove";
        /** @description What the caller uses. */
        MemberUse: {
            /** @description Of the person, with all agents it answers for. */
            channels_per_hour: components["schemas"]["UseObject"];
            /** @description In ten seconds. */
            messages_per_second: components["schemas"]["UseObject"];
            /** @description REST requests and frames, in two seconds. */
            requests_per_second: components["schemas"]["UseObject"];
            stored_bytes: components["schemas"]["UseObject"];
            uploads_per_minute: components["schemas"]["UseObject"];
        };
        /** @description A member as the caller sees it: the email is shown to the member itself only. */
        MemberView: components["schemas"]["Member"] & {
            /** @description What the caller may do with it; left out: nothing. */
            may?: components["schemas"]["MemberRight"][];
        };
        Memory: {
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            agent_id: string;
            id: string;
            /** @example standup */
            key: string;
            /** @example default */
            namespace: string;
            updated_at: components["schemas"]["Millis"];
            /** @example Tuesday */
            value: string;
        };
        MemoryBody: {
            /** @example standup */
            key: string;
            /**
             * @description `default` when left out.
             * @example default
             */
            namespace?: string;
            /**
             * @description A text; any other JSON is kept as its text.
             * @example Tuesday
             */
            value: unknown;
        };
        /** @description A message; times in milliseconds, `seq` its position among the stored events of the channel. */
        Message: {
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string;
            /** @example hello @codebot */
            content: string;
            content_type: components["schemas"]["ContentType"];
            created_at: components["schemas"]["Millis"];
            /** @description Only of a message that was deleted and whose thread goes on. */
            deleted?: boolean;
            /** Format: int64 */
            depth?: number;
            /** Format: int64 */
            edit_count: number;
            edited_at?: components["schemas"]["Millis"];
            /** @example file_01JCZ8Q3V7K5R2M9X4T6B8C0D6 */
            file_id?: string;
            id: string;
            metadata: Record<string, unknown>;
            reactions?: components["schemas"]["MessageReaction"][];
            /** Format: int64 */
            reply_count: number;
            /** @description The message this one came from in the end, and how many agents' messages lie between; absent: itself, none. */
            root_id?: string;
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            sender_id: string;
            sender_name: string;
            /** Format: int64 */
            seq: number;
            /** @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5 */
            thread_id?: string;
            type: string;
            updated_at: components["schemas"]["Millis"];
        };
        MessageBody: {
            /**
             * @description At most 10,000 characters; may be left out with a file.
             * @example hello @codebot
             */
            content?: string | null;
            content_type?: components["schemas"]["ContentType"] | null;
            /**
             * @description The wake this answers (agents).
             * @example dlv_01JCZ8Q3V7K5R2M9X4T6B8C0D8
             */
            delivery_id?: string | null;
            /**
             * @description A file uploaded before; its channel is then this one.
             * @example file_01JCZ8Q3V7K5R2M9X4T6B8C0D6
             */
            file_id?: string | null;
            /** @description An object of at most 16,384 bytes, given back as it is. */
            metadata?: Record<string, unknown> | null;
            /**
             * @description The message this one answers.
             * @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5
             */
            thread_id?: string | null;
            /** @description `user` when left out. */
            type?: string | null;
            /** @description `false`: people are told as ever, and no agent is woken. */
            wake?: boolean | null;
        };
        /** @description Everybody who reacted to a message with one emoji. */
        MessageReaction: {
            emoji: string;
            /** @description Ids of the members. */
            members: string[];
        };
        /**
         * Format: int64
         * @description A moment, in milliseconds since 1970.
         * @example 1794741506360
         */
        Millis: number;
        NewAgent: {
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            agent_id: string;
            /**
             * @description Shown this once; an agent that was known already keeps the key it has.
             * @example lr_…
             */
            api_key?: string;
            id: string;
            /**
             * @description The same id under the names other answers use.
             * @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2
             */
            member_id: string;
            /** @example general */
            name: string;
            /** @example ws_01JCZ8Q3V7K5R2M9X4T6B8C0D1 */
            workspace_id: string;
        };
        /** @description An agent that adds itself, or that an admin adds. */
        NewAgentBody: {
            capabilities?: string[];
            /** @example codebot */
            name: string;
            /** @description An invitation (`lpt_…`) made by an admin; with it no other authentication is needed. */
            provision_token?: string | null;
            runtime_model?: string | null;
            /** @example anthropic */
            runtime_provider?: string | null;
            /** @example llm */
            runtime_type?: string | null;
            system_prompt?: string;
        };
        NewChannelBody: {
            /** @example general */
            name: string;
            /** @example what everybody should know */
            topic?: string;
            type?: components["schemas"]["NewChannelKind"] | null;
        };
        /**
         * @description The channels that can be made; direct ones are opened.
         * @enum {string}
         */
        NewChannelKind: "channel" | "private";
        /** @description An agent that the hub has begun to host, with the member it is. */
        NewHostedAgent: components["schemas"]["HostedAgent"] & {
            agent: components["schemas"]["Member"];
        };
        /** @description A new invitation, with its code, this once. */
        NewInvite: components["schemas"]["InviteObject"] & {
            /** @example 5f0c9b27ae1d4c83a6f2e9b07d51c4aa */
            code: string;
            /** @description What to send to the person: the page asks there for a name and a password. */
            url: string;
        };
        NewKey: {
            /**
             * @description Shown this once.
             * @example lr_…
             */
            api_key: string;
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            member_id: string;
            /** @example general */
            name: string;
        };
        /** @description A new machine, with its key, this once. */
        NewMachine: {
            created_at: components["schemas"]["Millis"];
            id: string;
            /**
             * @description What the daemon logs in with (`lm_…`).
             * @example standup
             */
            key: string;
            /** @example general */
            name: string;
            owner_id: string;
        };
        /** @description A member that was just added, with its key, this once. */
        NewMember: components["schemas"]["Member"] & {
            /**
             * @description Only for an agent, and only in this answer.
             * @example lr_…
             */
            api_key?: string;
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            member_id: string;
        };
        NewMemberBody: {
            /** @example ann@example.org */
            email?: string | null;
            /**
             * @description Unique in the workspace, without regard to case.
             * @example codebot
             */
            name: string;
            nick?: string | null;
            /**
             * @description For a person: at least 8 characters.
             * @example correct horse battery
             */
            password?: string | null;
            role?: components["schemas"]["Role"] | null;
            role_card?: components["schemas"]["RoleCard"] | null;
            runtime?: components["schemas"]["Runtime"] | null;
            type: components["schemas"]["MemberKind"];
        };
        NewTaskBody: {
            /**
             * @description Who is to do it: a person is notified, an agent is woken.
             * @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3
             */
            assigned_to?: string | null;
            /**
             * @description The channel whose members may see it; left out, everybody in the workspace may.
             * @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4
             */
            channel_id?: string | null;
            /** @example what changed, in plain words */
            description?: string;
            /**
             * @description The message it came from.
             * @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5
             */
            message_id?: string | null;
            priority?: components["schemas"]["Priority"] | null;
            /** @example Write the release notes */
            title: string;
        };
        /** @description A webhook that was just made, with its secret, this once. */
        NewWebhook: components["schemas"]["Webhook"] & {
            secret: string;
            /** @description Where to post `{"content": …}`. */
            url: string;
        };
        /** @description A workspace that was just made, and the caller's way into it. */
        NewWorkspace: components["schemas"]["Workspace"] & {
            /**
             * @description The member of the caller's name who owns it.
             * @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2
             */
            member_id: string;
            /** @description A session of that member, good for 24 hours; later ones come from a login as `name@slug`. */
            token: string;
        };
        NewWorkspaceBody: {
            /** @example general */
            name: string;
        };
        Notification: {
            ack_required: boolean;
            acked_at: components["schemas"]["Millis"] | null;
            body: string;
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string | null;
            created_at: components["schemas"]["Millis"];
            expires_at: components["schemas"]["Millis"] | null;
            id: string;
            is_read: boolean;
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            member_id: string;
            /** @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5 */
            message_id: string | null;
            /** @example {"version":"1.2.0"} */
            payload: string | null;
            priority: string;
            source_type: components["schemas"]["NotificationSource"];
            /** @example Write the release notes */
            title: string;
            type: string;
        };
        /**
         * @description What a notification comes from.
         * @enum {string}
         */
        NotificationSource: "mention" | "dm" | "thread" | "task" | "review" | "approval" | "route" | "system";
        /** @enum {string} */
        NotifyPreference: "all" | "mentions" | "none";
        Part: {
            kind: components["schemas"]["PartKind"];
            label: string;
            /** @example remember to buy milk */
            text: string;
        };
        /** @enum {string} */
        PartKind: "command" | "place" | "url" | "diff" | "argument";
        PassBody: {
            /** @example somebody else answered */
            why?: string | null;
        };
        PasswordBody: {
            /** @description What it was until now. */
            current_password?: string | null;
            /** @description The ids of sessions and keys that go on (`GET /v1/members/me/credentials`); everything else ends. */
            keep?: string[];
            /**
             * @description At least 8 characters.
             * @example correct horse battery
             */
            new_password: string;
        };
        PasswordChanged: {
            /** @description What this device shows at its next log-in, as `X-Moot-Device`. */
            device: string;
            /** @description The ids of what has ended. */
            ended: string[];
            expires_at: components["schemas"]["Millis"];
            /** @example ok */
            status: string;
            /** @description A new session; those of before have ended, unless they were kept. */
            token: string;
        };
        Pin: {
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string;
            created_at: components["schemas"]["Millis"];
            id: string;
            /** @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5 */
            message_id: string;
            pinned_by: string;
        };
        PinBody: {
            /** @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5 */
            message_id: string;
        };
        /** @description A pin with the message it holds. */
        PinnedMessage: components["schemas"]["Pin"] & {
            message: components["schemas"]["Message"];
        };
        /** @description Where a session takes place. */
        PlaceBody: {
            /** @example guild-1 */
            guild_id: string;
            /** @description `music` (default) or `assistant`. */
            kind?: components["schemas"]["PoolKind"];
            /** @example voice-1 */
            voice_channel_id: string;
        };
        /** @enum {string} */
        Policy: "ask" | "ask-commands" | "accept-edits" | "dangerously-allow-all";
        /** @description A connected agent, as REST shows it. */
        PoolAgent: {
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            agent_id: string;
            /** @description Whether it serves a voice channel. */
            busy: boolean;
            guild_ids: string[];
            /**
             * Format: int64
             * @description From 0 to 100: errors of the last minute and the time a ping takes.
             */
            health: number;
            /** @description What it does there: `music` or `assistant`. */
            kind?: components["schemas"]["PoolKind"];
            last_seen: components["schemas"]["Millis"];
            /**
             * @description The agent as a member of the workspace.
             * @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2
             */
            member_id?: string;
            pool_id: string;
            protocol_version: string;
            ready: boolean;
            tag: string | null;
        };
        /** @description What the agent answered. */
        PoolAnswer: {
            /**
             * @description Who was asked, where the hub chose.
             * @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3
             */
            agent_id?: string;
            /** @description When `ok`; `null` when the agent had nothing to say. */
            data?: unknown;
            /** @description When not `ok`: the agent's own error. */
            error?: string;
            ok: boolean;
        };
        /** @enum {string} */
        PoolKind: "music" | "assistant";
        /** @description A channel that commands the session of a voice channel. */
        PoolLink: {
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string;
            /** Format: int64 */
            created_at: number;
            /** @example guild-1 */
            guild_id: string;
            linked_by: string;
            /** @example voice-1 */
            voice_channel_id: string;
        };
        /** @description A voice channel that an agent serves. */
        PoolSession: {
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            agent_id: string;
            /**
             * Format: int64
             * @description Rises with every change of agent, also across restarts.
             */
            fence: number;
            /** @example guild-1 */
            guild_id: string;
            kind: components["schemas"]["PoolKind"];
            /** @description Who asked for it. */
            owner_id: string | null;
            /** Format: int64 */
            taken_at: number;
            /** @example voice-1 */
            voice_channel_id: string;
        };
        /** @description Either `content` or `text`. */
        PostBody: {
            /** @example hello @codebot */
            content?: string | null;
            /** @example remember to buy milk */
            text?: string | null;
        };
        Posted: {
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string;
            created_at: components["schemas"]["Millis"];
            id: string;
            /** @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5 */
            message_id: string;
        };
        PreferenceBody: {
            /** @description `all`, `mentions` or `none`. */
            preference: components["schemas"]["NotifyPreference"];
        };
        /** @enum {string} */
        Presence: "online" | "idle" | "offline" | "dnd" | "sleeping";
        Preview: {
            wakes: components["schemas"]["Woken"][];
        };
        PreviewBody: {
            /** @example hello @codebot */
            content?: string;
            /** @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5 */
            thread_id?: string | null;
        };
        /** @enum {string} */
        Priority: "low" | "medium" | "high" | "urgent";
        Provider: {
            /** @description Whether nobody has an account yet. */
            first_account: boolean;
            /** @example password */
            id: string;
            /** @example general */
            name: string;
            /** @description Who may register: `first`, `open` or `closed`. */
            registration: string;
            type: string;
        };
        ProvisionToken: {
            expires_at: components["schemas"]["Millis"];
            /**
             * @description Shown this once.
             * @example lpt_…
             */
            token: string;
        };
        /** @description One member's reaction. */
        Reaction: {
            /** @description How many members reacted with this emoji. */
            count: number;
            emoji: string;
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            member_id: string;
            /** @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5 */
            message_id: string;
        };
        ReactionBody: {
            /** @example 👍 */
            emoji: string;
        };
        ReadBody: {
            /**
             * @description Read up to this message.
             * @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5
             */
            message_id?: string | null;
            /**
             * Format: int64
             * @description Read up to this position; left out, everything.
             */
            seq?: number | null;
        };
        ReadState: {
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string;
            /** Format: int64 */
            read_seq: number;
            /** @example ok */
            status: string;
            /** Format: int64 */
            unread_count: number;
        };
        RegisterBody: {
            /** @example ann@example.org */
            email: string;
            /** @example ann */
            name: string;
            /**
             * @description At least 8 characters.
             * @example correct horse battery
             */
            password: string;
            /** @description For the first account, from another machine: the code that `moot serve` printed when it started. */
            setup_code?: string | null;
            /** @description Left out, the workspace is named after its owner. */
            workspace_name?: string | null;
        };
        /** @description An operation and what it needs. */
        RequestBody: {
            /** @description Passed to the agent as it is; an empty object when left out. */
            data?: Record<string, unknown> | null;
            /** @example play */
            op: string;
        };
        Review: {
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string | null;
            /** @example reads well */
            comment: string | null;
            /** @example hello @codebot */
            content: string;
            created_at: components["schemas"]["Millis"];
            decided_at: components["schemas"]["Millis"] | null;
            id: string;
            requester_id: string;
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            reviewer_id: string;
            status: components["schemas"]["ReviewStatus"];
            /** @example The release notes */
            subject: string;
            /** @example ws_01JCZ8Q3V7K5R2M9X4T6B8C0D1 */
            workspace_id: string;
        };
        ReviewBody: {
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id?: string | null;
            /** @example hello @codebot */
            content?: string;
            /**
             * @description Who is asked.
             * @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2
             */
            reviewer_id: string;
            /** @example The release notes */
            subject: string;
        };
        /**
         * @description How a review stands: `pending`, then the reviewer's word.
         * @enum {string}
         */
        ReviewStatus: "pending" | "approved" | "changes_requested" | "rejected" | "denied" | "commented";
        /**
         * @description What a reviewer may say.
         * @enum {string}
         */
        ReviewVerdict: "approved" | "changes_requested" | "rejected" | "denied" | "commented";
        /** @enum {string} */
        Role: "member" | "admin" | "owner";
        /** @description What an agent is for, in the words of whoever answers for it. */
        RoleCard: {
            capabilities?: string[];
            system_prompt: string;
        };
        /** @description A sentence with everything that happened to it. */
        Route: components["schemas"]["RouteOutcome"] & {
            attempts: components["schemas"]["Attempt"][];
            /** Format: double */
            confidence?: number;
            created_at: components["schemas"]["Millis"];
            input_method: components["schemas"]["InputMethod"];
            /** @description `choosing`, `waiting`, `taken`, `asked`, `no_clients` or `failed`. */
            state: components["schemas"]["RouteState"];
            /**
             * @description As delivered: the speaker's words, less the name in front of a direct address.
             * @example remember to buy milk
             */
            text: string;
            updated_at: components["schemas"]["Millis"];
        };
        /** @description One client that was given the sentence. */
        RouteDelivery: {
            client: string;
            /** @description The speaker named the client. */
            direct: boolean;
            /** @description Why this client was chosen. */
            reason?: string;
            /** @description `delivered`, `acked`, `rejected` or `timeout`. */
            status: components["schemas"]["AttemptStatus"];
        };
        /** @description What became of a sentence so far. */
        RouteOutcome: {
            /** @description Whom to name when nobody took it (`failed`): say it again as `name: …`. Those who refused it are left out. */
            candidates?: string[];
            deliveries: components["schemas"]["RouteDelivery"][];
            /** @example msg-550e8400-e29b-41d4-a716-446655440000 */
            message_id: string;
            outcome: components["schemas"]["RouteResult"];
        };
        /**
         * @description How it went so far.
         * @enum {string}
         */
        RouteResult: "routed" | "no_clients" | "failed";
        /** @enum {string} */
        RouteState: "choosing" | "waiting" | "taken" | "asked" | "no_clients" | "failed";
        /** @description A client that can be handed sentences now. */
        RouterClient: {
            capabilities: string[];
            /** @example what changed, in plain words */
            description: string;
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            member_id: string;
            /** @example general */
            name: string;
            /** @description `client` for a local program, `agent` for an agent of the hub. */
            type: string;
            version?: string;
        };
        /** @description An agent at work in a thread of a channel. */
        Run: {
            /** Format: int64 */
            action_count: number;
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            agent_id: string;
            agent_name: string;
            /** @description The whole answer, only where it is too long for the message. */
            answer?: string;
            /** @description The person whose message the work began with. */
            asker_id: string | null;
            branch: string | null;
            changes: components["schemas"]["FileChange"][];
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string;
            /** Format: double */
            cost_usd: number | null;
            /** @example dlv_01JCZ8Q3V7K5R2M9X4T6B8C0D8 */
            delivery_id: string;
            ended_at: components["schemas"]["Millis"] | null;
            engine: string;
            error: string | null;
            has_diff: boolean;
            id: string;
            machine: string | null;
            /**
             * @description The message that shows how far it is and becomes the answer.
             * @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5
             */
            message_id: string;
            model: string | null;
            project: string | null;
            /** @description What the engine continues the thread with. */
            resume: string | null;
            /** @description How a person continues it in a terminal. */
            resume_line: string | null;
            started_at: components["schemas"]["Millis"];
            /** @description `running`, `waiting` (for a decision of people), `completed`, `failed` or `cancelled`. */
            state: components["schemas"]["RunState"];
            stop_requested: boolean;
            /**
             * @description The first message of the thread it works in.
             * @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5
             */
            thread_id: string;
            trigger_id: string;
            /** @description What the engine reports of its use. */
            usage: Record<string, unknown> | null;
        };
        /** @description One action of a run, as its newest event has it. */
        RunAction: {
            at: components["schemas"]["Millis"];
            /** @description What there is to know beside the title; cut to 16 KiB. */
            detail: Record<string, unknown>;
            /**
             * Format: int64
             * @description The number of its first event.
             */
            first_seq: number;
            id: string;
            kind: string;
            ok: boolean | null;
            /** @description `started`, `updated` or `completed`. */
            phase: components["schemas"]["ActionPhase"];
            /**
             * Format: int64
             * @description The number of its newest event among those of the run; the list is in this order.
             */
            seq: number;
            /** @example Write the release notes */
            title: string;
        };
        /**
         * @description A state of runs that can be asked for.
         * @enum {string}
         */
        RunFilter: "open" | "running" | "waiting" | "completed" | "failed" | "cancelled";
        /** @enum {string} */
        RunState: "running" | "waiting" | "completed" | "failed" | "cancelled";
        /** @description A run with what it did. */
        RunWithActions: components["schemas"]["Run"] & {
            /** @description In the order of their newest events. */
            actions: components["schemas"]["RunAction"][];
        };
        /** @description What an agent says it runs on. */
        Runtime: {
            model?: string;
            provider?: string;
            type?: string;
        };
        /**
         * @description How somebody who is here says they are.
         * @enum {string}
         */
        SaidPresence: "online" | "idle" | "dnd" | "sleeping";
        SendDraftBody: {
            /** @description Send it although the conversation has moved on. */
            force_version?: unknown;
        };
        SentenceBody: {
            /** @description `text` when left out. */
            input_method?: components["schemas"]["InputMethod"];
            /** @example notebook: remember to buy milk */
            text: string;
        };
        Session: {
            /**
             * @description What this device shows at its next log-in, as `X-Moot-Device` (the page has it as a cookie): it is then told from
             *     those who guess, and let through where they are not. It proves nothing else.
             */
            device: string;
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            member_id: string;
            /** @example general */
            name: string;
            /** @description Good for 24 hours as `Authorization: Bearer …`. */
            token: string;
            workspace: components["schemas"]["WorkspaceRef"] | null;
            /** @example ws_01JCZ8Q3V7K5R2M9X4T6B8C0D1 */
            workspace_id: string;
        };
        SessionObject: {
            address: string;
            created_at: components["schemas"]["Millis"];
            /** @description Whether it is the one that asks. */
            current: boolean;
            /** @description What the client calls itself. */
            device: string;
            id: string;
            /** @description To ten minutes. */
            last_seen_at: components["schemas"]["Millis"];
        };
        /** @description How far this hub is set up. */
        Setup: {
            /** @description Whether the caller needs the code that was printed at the start (`setup_code`). */
            code_needed: boolean;
            /** @description Whether nobody has an account yet, and whoever comes first will own the hub. */
            needs_owner: boolean;
            version: string;
        };
        /** @description What a question looks like. Every text is safe to show as it is: nothing in it hides. */
        Shown: {
            /** @description Words that a question offers as answers. */
            choices: string[];
            /** @description What it is, in the hub's own words. */
            heading: string;
            /** @description All of it, in this order. */
            parts: components["schemas"]["Part"][];
            /** @description The asker's own words about it. */
            says: string | null;
            /** @description What it may destroy; stands before everything that the asker wrote. */
            warning: string | null;
        };
        SpokenOutcome: components["schemas"]["RouteOutcome"] & {
            /**
             * Format: double
             * @description How sure the transcription is, from 0 to 1, where it says so.
             */
            confidence?: number;
            /**
             * @description What was understood.
             * @example remember to buy milk
             */
            text: string;
        };
        Status: components["schemas"]["Figures"] & {
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            member_id: string;
            /** @example general */
            name: string;
            /** @example ok */
            status: string;
            workspace: components["schemas"]["Workspace"];
        };
        Task: {
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            assigned_to: string | null;
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string | null;
            created_at: components["schemas"]["Millis"];
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            created_by: string;
            /** @example what changed, in plain words */
            description: string;
            id: string;
            /** @example msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5 */
            message_id: string | null;
            priority: components["schemas"]["Priority"];
            status: components["schemas"]["TaskStatus"];
            /** @example Write the release notes */
            title: string;
            updated_at: components["schemas"]["Millis"];
            /** @example ws_01JCZ8Q3V7K5R2M9X4T6B8C0D1 */
            workspace_id: string;
        };
        /** @description What is left out stays as it is. */
        TaskChange: {
            /**
             * @description Oneself to claim it (409 when somebody else has it), another member to assign it, `null` to free it.
             * @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3
             */
            assigned_to?: string | null;
            /** @example what changed, in plain words */
            description?: string | null;
            priority?: components["schemas"]["Priority"] | null;
            status?: components["schemas"]["TaskStatus"] | null;
            /** @example Write the release notes */
            title?: string | null;
        };
        /** @enum {string} */
        TaskStatus: "todo" | "in_progress" | "review" | "done";
        /** @description A code, this once. */
        TelegramCode: {
            /** @example 1f0c9-b27ae */
            code: string;
            /**
             * @description What to send to the bot in a private chat.
             * @example /link 1f0c9-b27ae
             */
            command: string;
            expires_at: components["schemas"]["Millis"];
        };
        /** @description The Telegram account that speaks for the caller. */
        TelegramLinkObject: {
            linked: boolean;
            linked_at: components["schemas"]["Millis"] | null;
            /**
             * @description What the account calls itself.
             * @example general
             */
            name: string | null;
            /**
             * Format: int64
             * @description Telegram's number of the account.
             */
            user_id: number | null;
        };
        /** @description A thread of the caller's. */
        Thread: {
            /** @description The newest reply that is not deleted. */
            last_reply: components["schemas"]["Message"];
            /** @description The message it begins with. */
            root: components["schemas"]["Message"];
            /** @description How many replies of others the caller has not read. */
            unread_count: number;
        };
        /** @description What a member has not read yet. */
        Unread: {
            /** @description The channels with something unread. */
            channels: components["schemas"]["UnreadChannel"][];
            /**
             * Format: int64
             * @description Over all channels.
             */
            count: number;
        };
        UnreadChannel: {
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string;
            /** @example general */
            name: string;
            type: components["schemas"]["ChannelKind"];
            /** Format: int64 */
            unread_count: number;
        };
        /** @description The form of an upload. */
        UploadForm: {
            /**
             * @description The channel whose members may read it; left out, only the uploader may until it is posted.
             * @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4
             */
            channel_id?: string;
            /**
             * Format: binary
             * @description The bytes, at most 32 MB.
             */
            file: string;
        };
        UsageObject: {
            me: components["schemas"]["MemberUse"];
            /** Format: int64 */
            reactions_per_message: number;
            workspace: components["schemas"]["WorkspaceUse"];
        };
        /** @description `limit` 0 is no limit. */
        UseObject: {
            /** Format: int64 */
            limit: number;
            /** Format: int64 */
            used: number;
        };
        Verdict: {
            /** @example reads well */
            comment?: string | null;
            status: components["schemas"]["ReviewVerdict"];
        };
        /** @description What an agent is woken for; left out, it is only woken. */
        WakeBody: {
            /**
             * @description Where it is wanted.
             * @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4
             */
            channel_id?: string | null;
            /** @description What it is wanted for: the id of a message of the channel, or words, which are said there in the caller's name. */
            message?: string | null;
        };
        /** @enum {string} */
        WakeReason: "mention" | "dm" | "thread_reply" | "task_assigned" | "manual";
        Webhook: {
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string;
            created_at: components["schemas"]["Millis"];
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2 */
            created_by: string;
            id: string;
            /** @example general */
            name: string;
            /** @example ws_01JCZ8Q3V7K5R2M9X4T6B8C0D1 */
            workspace_id: string;
        };
        WebhookBody: {
            /** @example ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4 */
            channel_id: string;
            /** @example builds */
            name: string;
        };
        Woken: {
            /** @example mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3 */
            agent_id: string;
            /** @example general */
            name: string;
            presence: components["schemas"]["Presence"];
            /** @description Whether it would be woken now; otherwise when it is back. */
            reachable: boolean;
            /** @description `mention`, `dm` or `thread_reply`. */
            reason: components["schemas"]["WakeReason"];
        };
        Workspace: {
            created_at: components["schemas"]["Millis"];
            id: string;
            /** @example general */
            name: string;
            /** @example ann */
            slug: string;
        };
        /** @description What is left out stays as it is. */
        WorkspaceChange: {
            /** @example general */
            name?: string | null;
            /**
             * @description The short name in `name@slug`.
             * @example ann
             */
            slug?: string | null;
        };
        WorkspaceRef: {
            id: string;
            /** @example general */
            name: string;
            /** @example ann */
            slug: string;
        };
        /** @enum {string} */
        WorkspaceRight: "administer" | "make_admins" | "cancel_wakes";
        /** @description What a workspace uses. What is counted per time is what is not forgotten yet: it goes down steadily. */
        WorkspaceUse: {
            /** Format: int64 */
            channels: number;
            /** Format: int64 */
            members: number;
            members_per_hour: components["schemas"]["UseObject"];
            /** @description Of all members, in ten seconds. */
            messages_per_second: components["schemas"]["UseObject"];
            stored_bytes: components["schemas"]["UseObject"];
        };
        /** @description A workspace as the caller sees it. */
        WorkspaceView: components["schemas"]["Workspace"] & {
            /** @description What the caller may do in it; left out: what every member may. */
            may?: components["schemas"]["WorkspaceRight"][];
        };
    };
    responses: {
        /** @description the agent did not answer in time */
        AgentTimeout: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the path, the query or the body is not as it must be */
        BadRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description it is taken, over, or not as it was */
        Conflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the caller may not do this */
        Forbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description nobody is named, or the token is unknown or has ended */
        NotAuthenticated: {
            headers: {
                /** @description how to authenticate */
                "WWW-Authenticate": string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description there is no such thing, or not for the caller to know of */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description there is too much of it already */
        QuotaReached: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the body is too large */
        TooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description too often; `Retry-After` says when to come back */
        TooManyRequests: {
            headers: {
                /** @description seconds to wait */
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the body came too slowly */
        TooSlow: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the hub cannot do it now, and nothing was changed */
        Unavailable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
