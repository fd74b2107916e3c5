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
            /** @description Left out, the caller joins. */
            member_id?: string | null;
        };
        /** @description An agent in a list. */
        Agent: {
            capabilities: string[];
            id: string;
            name: string;
            online: boolean;
            runtime?: components["schemas"]["Runtime"];
            status: components["schemas"]["Presence"];
            type: components["schemas"]["MemberKind"];
        };
        /** @description What an agent has to do and has done, as far as the caller may see it. */
        AgentMetrics: {
            agent_id: string;
            approvals_pending: number;
            channels: number;
            created_at: components["schemas"]["i64"];
            name: string;
            online: boolean;
            status: components["schemas"]["Presence"];
            tasks_done: number;
            tasks_open: number;
        };
        AgentState: {
            agent_id: string;
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
            agent_id: string;
            asker_id: string | null;
            channel_id: string | null;
            created_at: components["schemas"]["i64"];
            expires_at: components["schemas"]["i64"];
            fingerprint: string | null;
            id: string;
            kind: components["schemas"]["ApprovalKind"];
            payload: string;
            review_note: string | null;
            reviewed_at: components["schemas"]["i64"] | null;
            reviewer_id: string | null;
            run_id: string | null;
            scope: components["schemas"]["ApprovalScope"];
            shown: components["schemas"]["Shown"];
            status: components["schemas"]["ApprovalStatus"];
            used_at: components["schemas"]["i64"] | null;
            workspace_id: string;
        };
        ApprovalBody: {
            /** @example deploy_to_production */
            action: string;
            /** @description The channel whose members are asked; left out, everybody in the workspace is. */
            channel_id?: string | null;
            /** @description Finds the same question asked again; it is the same only if `action` and `payload` are, too. */
            fingerprint?: string | null;
            kind?: components["schemas"]["ApprovalKind"] | null;
            /** @description The message that woke the agent: while that wake is open, whoever caused it may decide. Any other message names nobody. */
            message_id?: string | null;
            /** @description A text, usually JSON; any other JSON is kept as its text. */
            payload?: string;
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
        /** @description One attempt in full. */
        Attempt: {
            client: string;
            delivered_at: components["schemas"]["i64"];
            direct: boolean;
            /** @description Why it did not take the sentence; as long as it did not refuse, why it was chosen. */
            reason?: string | null;
            reject_reason?: string | null;
            /** @description Everything the client said to it: `type` is `ack`, `reject` or `notification`. */
            responses: Record<string, unknown>[];
            routing_reason?: string | null;
            status: string;
        };
        AvatarBody: {
            /** @description An image that was uploaded before. */
            file_id: string;
        };
        BackupMade: {
            created_at: components["schemas"]["i64"];
            /** @description The file below `backups/` in the data folder. */
            file: string;
            /** Format: int64 */
            size: number;
            /** @example ok */
            status: string;
        };
        Call: {
            answered_at: components["schemas"]["i64"] | null;
            callee_id: string;
            caller_id: string;
            created_at: components["schemas"]["i64"];
            ended_at: components["schemas"]["i64"] | null;
            id: string;
            status: components["schemas"]["CallStatus"];
            type: string;
            workspace_id: string;
        };
        /** @enum {string} */
        CallStatus: "ringing" | "answered" | "ended" | "missed";
        Channel: {
            archived: boolean;
            created_at: components["schemas"]["i64"];
            created_by: string;
            id: string;
            /** @description For the one who asks: whether they are in it, and what they have not read. */
            is_member: boolean;
            member_count: number;
            member_ids: string[];
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
            topic: string;
            type: components["schemas"]["ChannelKind"];
            /** Format: int64 */
            unread_count: number;
            workspace_id: string;
        };
        /** @description What is left out stays as it is. */
        ChannelChange: {
            name?: string | null;
            topic?: string | null;
        };
        /** @enum {string} */
        ChannelKind: "channel" | "private" | "dm" | "group_dm";
        /** @description A client that can be handed sentences now. */
        Client: {
            capabilities: string[];
            description: string;
            member_id: string;
            name: string;
            /** @description `client` for a local program, `agent` for an agent of the hub. */
            type: string;
            version?: string | null;
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
            /** @description The member whose connection it is, or whose machine. */
            member_id: string;
            /** @description The machine, or the member whose connection it is. */
            name: string;
            started_at: components["schemas"]["i64"];
            /** @example online */
            status: string;
        };
        DaemonAgent: {
            agent_id: string;
            name: string;
        };
        Decision: {
            approved: boolean;
            note?: string | null;
            scope?: components["schemas"]["ApprovalScope"] | null;
        };
        /** @description A wake of an agent and what came of it. */
        Delivery: {
            agent_id: string;
            agent_name: string;
            channel_id: string | null;
            created_at: components["schemas"]["i64"];
            /** Format: int32 */
            depth: number;
            expires_at: components["schemas"]["i64"];
            id: string;
            message_ids: string[];
            /** @description `mention`, `dm`, `thread_reply` or `task_assigned`. */
            reason: components["schemas"]["WakeReason"];
            reply_id: string | null;
            root_id: string;
            run_id: string | null;
            sender_id: string;
            /** @description `queued`, `leased`, `admitted`, then `answered`, `passed`, `failed`, `expired`, `cancelled` or `suppressed`. */
            state: components["schemas"]["DeliveryState"];
            task_id?: string;
            thread_id: string | null;
            updated_at: components["schemas"]["i64"];
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
            agent_id: string;
            channel_id: string;
            content: string;
            created_at: components["schemas"]["i64"];
            expires_at: components["schemas"]["i64"];
            id: string;
            /** Format: int64 */
            room_version: number;
            status: components["schemas"]["DraftStatus"];
            thread_id: string | null;
        };
        DraftBody: {
            channel_id: string;
            content: string;
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
            edited_at: components["schemas"]["i64"];
            id: string;
            message_id: string;
            previous_content: string;
        };
        EditBody: {
            content: string;
        };
        Engine: {
            /** @description Whether agents made of it can ask before they act; else they take only the policy `dangerously-allow-all`. */
            asks: boolean;
            /** @description The program that is started. */
            command: string;
            found: boolean;
            hint: string | null;
            /** @example claude */
            id: string;
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
            channel_id: string | null;
            content_type: string;
            created_at: components["schemas"]["i64"];
            filename: string;
            id: string;
            /** Format: int64 */
            size: number;
            uploaded_by: string;
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
            /** @description `online` (default), `idle`, `dnd` or `sleeping`. */
            status?: string | null;
        };
        HostBody: {
            capabilities?: string[];
            /** @description Where it is from the start; left out: every open channel. */
            channel_ids?: string[] | null;
            /** @description Commands and tools it may never use, such as `git push` or `rm -rf *`; nobody is asked about them. */
            deny?: string[];
            /**
             * @description One of `/v1/engines`.
             * @example claude
             */
            engine: string;
            model?: string | null;
            /**
             * @description One word, unique in the workspace.
             * @example claude
             */
            name: string;
            policy?: components["schemas"]["Policy"] | null;
            /** @description The name of a configured project, or a folder of the hub's machine. */
            project?: string | null;
            system_prompt?: string | null;
            /** @description Give each thread a git work tree and a branch of its own. */
            worktrees?: boolean;
        };
        HostedAgent: {
            agent_id: string;
            /** @description What it may never do, and nobody is asked about. */
            deny: string[];
            engine: string;
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
        /** @description What an invitation is for. */
        Invitation: {
            expires_at: components["schemas"]["i64"];
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
            created_at: components["schemas"]["i64"];
            created_by: string;
            expires_at: components["schemas"]["i64"];
            id: string;
            role: components["schemas"]["Role"];
        };
        InvitedTo: {
            id: string;
            name: string;
            slug: string;
        };
        /** @description A named note in an agent's own workspace. */
        Item: {
            agent_id: string;
            content: string;
            created_at: components["schemas"]["i64"];
            description: string;
            id: string;
            name: string;
            namespace: string;
            tags: string[];
            updated_at: components["schemas"]["i64"];
        };
        /** @description What is left out stays as it is. */
        ItemBody: {
            content?: string | null;
            description?: string | null;
            /** @description The item to change; left out, the one of this name, else a new one. */
            item_id?: string | null;
            name?: string;
            /** @description `default` when left out. */
            namespace?: string | null;
            tags?: string[] | null;
        };
        Join: {
            run_id: string;
        };
        JoinBody: {
            /** @description The last part of the invitation's address. */
            code: string;
            email?: string | null;
            /** @example bob */
            name: string;
            /** @description At least 8 characters. */
            password: string;
        };
        /** @enum {string} */
        KeyKind: "api_key" | "machine" | "provision" | "telegram";
        KeyObject: {
            /** @description 0 where it was not noted. */
            created_at: components["schemas"]["i64"];
            id: string;
            kind: components["schemas"]["KeyKind"];
            name: string;
        };
        LinkBody: {
            guild_id: string;
            voice_channel_id: string;
        };
        /** @description A linked channel, or the voice channel itself. */
        ListenBody: {
            /** @description A channel that is linked to a voice channel. */
            channel_id?: string | null;
            guild_id?: string | null;
            voice_channel_id?: string | null;
        };
        /** @description A page to open, for whoever asked for it. */
        ListenLink: {
            /** Format: int64 */
            expires_at: number;
            guild_id: string;
            /** @description The key alone: `/listen/{guild}/{channel}/feed?key=…`. */
            key: string;
            /** @description The page, with the key in it. */
            url: string;
            voice_channel_id: string;
        };
        /** @description Either `email` or `name`. */
        LoginBody: {
            /** @example ann@example.org */
            email?: string | null;
            /** @description The name in the workspace; `name@slug` when several workspaces have somebody of that name. */
            name?: string | null;
            password: string;
        };
        /** @description A machine without its key. */
        Machine: {
            /** @description The agents it carries, or carried last. */
            agents: components["schemas"]["MachineAgent"][];
            created_at: components["schemas"]["i64"];
            id: string;
            last_seen_at: components["schemas"]["i64"] | null;
            name: string;
            online: boolean;
            owner_id: string;
        };
        MachineAgent: {
            id: string;
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
            created_at: components["schemas"]["i64"];
            created_by?: string;
            email?: string;
            id: string;
            name: string;
            nick: string | null;
            online: boolean;
            role: components["schemas"]["Role"];
            role_card?: components["schemas"]["RoleCard"];
            runtime?: components["schemas"]["Runtime"];
            status: components["schemas"]["Presence"];
            type: components["schemas"]["MemberKind"];
            workspace_id: string;
        };
        /** @description What is left out stays as it is. */
        MemberChange: {
            email?: string | null;
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
            agent_id: string;
            id: string;
            key: string;
            namespace: string;
            updated_at: components["schemas"]["i64"];
            value: string;
        };
        MemoryBody: {
            key: string;
            /** @description `default` when left out. */
            namespace?: string;
            /** @description A text; any other JSON is kept as its text. */
            value: string;
        };
        /** @description A message; times in milliseconds, `seq` its position among the stored events of the channel. */
        Message: {
            channel_id: string;
            content: string;
            content_type: components["schemas"]["ContentType"];
            created_at: components["schemas"]["i64"];
            /** @description Only of a message that was deleted and whose thread goes on. */
            deleted?: boolean;
            /** Format: int32 */
            depth?: number;
            /** Format: int32 */
            edit_count: number;
            edited_at?: components["schemas"]["i64"];
            file_id?: string;
            id: string;
            metadata: Record<string, unknown>;
            reactions?: components["schemas"]["MessageReaction"][];
            /** Format: int32 */
            reply_count: number;
            /** @description The message this one came from in the end, and how many agents' messages lie between; absent: itself, none. */
            root_id?: string;
            sender_id: string;
            sender_name: string;
            /** Format: int64 */
            seq: number;
            thread_id?: string;
            type: string;
            updated_at: components["schemas"]["i64"];
        };
        MessageBody: {
            /** @description At most 10,000 characters; may be left out with a file. */
            content: string;
            content_type?: components["schemas"]["ContentType"] | null;
            /** @description The wake this answers (agents). */
            delivery_id?: string | null;
            /** @description A file uploaded before; its channel is then this one. */
            file_id?: string | null;
            /** @description An object of at most 16,384 bytes, given back as it is. */
            metadata?: Record<string, unknown> | null;
            /** @description The message this one answers. */
            thread_id?: string | null;
            /** @description `user` when left out. */
            type?: string | null;
        };
        /** @description Everybody who reacted to a message with one emoji. */
        MessageReaction: {
            emoji: string;
            /** @description Ids of the members. */
            members: string[];
        };
        NewAgent: {
            /** @description The same id under the name other answers use. */
            agent_id: string;
            /**
             * @description Shown this once; an agent that was known already keeps the key it has.
             * @example lr_…
             */
            api_key?: string;
            member_id: string;
            name: string;
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
            topic?: string;
            type?: components["schemas"]["ChannelKind"] | null;
        };
        /** @description An agent that the hub has begun to host, with the member it is. */
        NewHostedAgent: components["schemas"]["HostedAgent"] & {
            agent: components["schemas"]["Member"];
        };
        /** @description A new invitation, with its code, this once. */
        NewInvite: components["schemas"]["InviteObject"] & {
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
            member_id: string;
            name: string;
        };
        /** @description A new machine, with its key, this once. */
        NewMachine: {
            created_at: components["schemas"]["i64"];
            id: string;
            /** @description What the daemon logs in with (`lm_…`). */
            key: string;
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
            member_id: string;
        };
        NewMemberBody: {
            email?: string | null;
            /**
             * @description Unique in the workspace, without regard to case.
             * @example codebot
             */
            name: string;
            nick?: string | null;
            /** @description For a person: at least 8 characters. */
            password?: string | null;
            role?: components["schemas"]["Role"] | null;
            role_card?: components["schemas"]["RoleCard"] | null;
            runtime?: components["schemas"]["Runtime"] | null;
            type: components["schemas"]["MemberKind"];
        };
        NewTaskBody: {
            /** @description Who is to do it: a person is notified, an agent is woken. */
            assigned_to?: string | null;
            /** @description The channel whose members may see it; left out, everybody in the workspace may. */
            channel_id?: string | null;
            description?: string;
            /** @description The message it came from. */
            message_id?: string | null;
            priority?: components["schemas"]["Priority"] | null;
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
            /** @description The member of the caller's name who owns it. */
            member_id: string;
            /** @description A session of that member, good for 24 hours; later ones come from a login as `name@slug`. */
            token: string;
        };
        NewWorkspaceBody: {
            name: string;
        };
        Notification: {
            ack_required: boolean;
            acked_at: components["schemas"]["i64"] | null;
            body: string;
            channel_id: string | null;
            created_at: components["schemas"]["i64"];
            expires_at: components["schemas"]["i64"] | null;
            id: string;
            is_read: boolean;
            member_id: string;
            message_id: string | null;
            payload: string | null;
            priority: string;
            source_type: string;
            title: string;
            type: string;
        };
        /** @enum {string} */
        NotifyPreference: "all" | "mentions" | "none";
        Part: {
            kind: components["schemas"]["PartKind"];
            label: string;
            text: string;
        };
        /** @enum {string} */
        PartKind: "command" | "place" | "url" | "diff" | "argument";
        PasswordBody: {
            /** @description What it was until now. */
            current_password?: string | null;
            /** @description The ids of sessions and keys that go on (`GET /v1/members/me/credentials`); everything else ends. */
            keep?: string[];
            /** @description At least 8 characters. */
            new_password: string;
        };
        PasswordChanged: {
            /** @description What this device shows at its next log-in, as `X-Moot-Device`. */
            device: string;
            /** @description The ids of what has ended. */
            ended: string[];
            expires_at: components["schemas"]["i64"];
            /** @example ok */
            status: string;
            /** @description A new session; those of before have ended, unless they were kept. */
            token: string;
        };
        Pin: {
            channel_id: string;
            created_at: components["schemas"]["i64"];
            id: string;
            message_id: string;
            pinned_by: string;
        };
        PinBody: {
            message_id: string;
        };
        /** @description A pin with the message it holds. */
        PinnedMessage: components["schemas"]["Pin"] & {
            message: components["schemas"]["Message"];
        };
        /** @description Where a session takes place. */
        PlaceBody: {
            guild_id: string;
            /** @description `music` (default) or `assistant`. */
            kind?: string | null;
            voice_channel_id: string;
        };
        /** @enum {string} */
        Policy: "ask" | "ask-commands" | "accept-edits" | "dangerously-allow-all";
        /** @description A connected agent, as REST shows it. */
        PoolAgent: {
            agent_id: string;
            /** @description Whether it serves a voice channel. */
            busy: boolean;
            guild_ids: string[];
            /**
             * Format: int32
             * @description From 0 to 100: errors of the last minute and the time a ping takes.
             */
            health: number;
            /** @description What it does there: `music` or `assistant`. */
            kind?: string | null;
            last_seen: components["schemas"]["i64"];
            /** @description The agent as a member of the workspace. */
            member_id?: string | null;
            pool_id: string;
            protocol_version: string;
            ready: boolean;
            tag?: string | null;
        };
        /** @description What the agent answered. */
        PoolAnswer: {
            /** @description Who was asked, where the hub chose. */
            agent_id?: string;
            /** @description When `ok`; `null` when the agent had nothing to say. */
            data?: Record<string, unknown>;
            /** @description When not `ok`: the agent's own error. */
            error?: string;
            ok: boolean;
        };
        /** @description A channel that commands the session of a voice channel. */
        PoolLink: {
            channel_id: string;
            /** Format: int64 */
            created_at: number;
            guild_id: string;
            linked_by: string;
            voice_channel_id: string;
        };
        /** @description A voice channel that an agent serves. */
        PoolSession: {
            agent_id: string;
            /**
             * Format: int64
             * @description Rises with every change of agent, also across restarts.
             */
            fence: number;
            guild_id: string;
            /** @example music */
            kind: string;
            /** @description Who asked for it. */
            owner_id: string | null;
            /** Format: int64 */
            taken_at: number;
            voice_channel_id: string;
        };
        /** @description Either `content` or `text`. */
        PostBody: {
            content?: string | null;
            text?: string | null;
        };
        Posted: {
            channel_id: string;
            created_at: components["schemas"]["i64"];
            id: string;
            message_id: string;
        };
        Preference: {
            channel_id: string;
            preference: components["schemas"]["NotifyPreference"];
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
            content?: string;
            thread_id?: string | null;
        };
        /** @enum {string} */
        Priority: "low" | "medium" | "high" | "urgent";
        Provider: {
            /** @description Whether nobody has an account yet. */
            first_account: boolean;
            /** @example password */
            id: string;
            name: string;
            /** @description Who may register: `first`, `open` or `closed`. */
            registration: string;
            type: string;
        };
        ProvisionToken: {
            expires_at: components["schemas"]["i64"];
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
            member_id: string;
            message_id: string;
        };
        ReactionBody: {
            /** @example 👍 */
            emoji: string;
        };
        ReadBody: {
            /** @description Read up to this message. */
            message_id?: string | null;
            /**
             * Format: int64
             * @description Read up to this position; left out, everything.
             */
            seq?: number | null;
        };
        ReadState: {
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
            /** @description At least 8 characters. */
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
            channel_id: string | null;
            comment: string | null;
            content: string;
            created_at: components["schemas"]["i64"];
            decided_at: components["schemas"]["i64"] | null;
            id: string;
            requester_id: string;
            reviewer_id: string;
            status: string;
            subject: string;
            workspace_id: string;
        };
        ReviewBody: {
            channel_id?: string | null;
            content?: string;
            /** @description Who is asked. */
            reviewer_id: string;
            subject: string;
        };
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
            confidence?: number | null;
            created_at: components["schemas"]["i64"];
            input_method: string;
            /** @description `choosing`, `waiting`, `taken`, `asked`, `no_clients` or `failed`. */
            state: string;
            /** @description As delivered: the speaker's words, less the name in front of a direct address. */
            text: string;
            updated_at: components["schemas"]["i64"];
        };
        /** @description One client that was given the sentence. */
        RouteDelivery: {
            client: string;
            /** @description The speaker named the client. */
            direct: boolean;
            /** @description Why this client was chosen. */
            reason?: string | null;
            /** @description `delivered`, `acked`, `rejected` or `timeout`. */
            status: string;
        };
        /** @description What became of a sentence so far. */
        RouteOutcome: {
            /** @description Whom to name when nobody stood out (`failed`): say it again as `name: …`. */
            candidates?: string[];
            deliveries: components["schemas"]["RouteDelivery"][];
            /** @example msg-550e8400-e29b-41d4-a716-446655440000 */
            message_id: string;
            /** @description `routed`, `no_clients` or `failed`. */
            outcome: string;
        };
        /** @description An agent at work in a thread of a channel. */
        Run: {
            /** Format: int32 */
            action_count: number;
            agent_id: string;
            agent_name: string;
            /** @description The whole answer, only where it is too long for the message. */
            answer?: string;
            /** @description The person whose message the work began with. */
            asker_id: string | null;
            branch: string | null;
            changes: components["schemas"]["FileChange"][];
            channel_id: string;
            /** Format: double */
            cost_usd: number | null;
            delivery_id: string;
            ended_at: components["schemas"]["i64"] | null;
            engine: string;
            error: string | null;
            has_diff: boolean;
            id: string;
            machine: string | null;
            /** @description The message that shows how far it is and becomes the answer. */
            message_id: string;
            model: string | null;
            project: string | null;
            /** @description What the engine continues the thread with. */
            resume: string | null;
            /** @description How a person continues it in a terminal. */
            resume_line: string | null;
            started_at: components["schemas"]["i64"];
            /** @description `running`, `waiting` (for a decision of people), `completed`, `failed` or `cancelled`. */
            state: components["schemas"]["RunState"];
            stop_requested: boolean;
            /** @description The first message of the thread it works in. */
            thread_id: string;
            trigger_id: string;
            /** @description What the engine reports of its use. */
            usage: Record<string, unknown> | null;
        };
        /** @description One action of a run, as its newest event has it. */
        RunAction: {
            at: components["schemas"]["i64"];
            /** @description What there is to know beside the title; cut to 16 KiB. */
            detail: Record<string, unknown>;
            /**
             * Format: int32
             * @description The number of its first event.
             */
            first_seq: number;
            id: string;
            kind: string;
            ok: boolean | null;
            /** @description `started`, `updated` or `completed`. */
            phase: components["schemas"]["ActionPhase"];
            /**
             * Format: int32
             * @description The number of its newest event among those of the run; the list is in this order.
             */
            seq: number;
            title: string;
        };
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
        SendDraftBody: {
            /** @description Send it although the conversation has moved on. */
            force_version?: boolean;
        };
        SentenceBody: {
            /**
             * @description `text` when left out.
             * @example text
             */
            input_method?: string | null;
            /** @example notebook: remember to buy milk */
            text: string;
        };
        Session: {
            /**
             * @description What this device shows at its next log-in, as `X-Moot-Device` (the page has it as a cookie): it is then told from
             *     those who guess, and let through where they are not. It proves nothing else.
             */
            device: string;
            member_id: string;
            name: string;
            /** @description Good for 24 hours as `Authorization: Bearer …`. */
            token: string;
            workspace: components["schemas"]["WorkspaceRef"] | null;
            workspace_id: string;
        };
        SessionObject: {
            address: string;
            created_at: components["schemas"]["i64"];
            /** @description Whether it is the one that asks. */
            current: boolean;
            /** @description What the client calls itself. */
            device: string;
            id: string;
            /** @description To ten minutes. */
            last_seen_at: components["schemas"]["i64"];
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
            says?: string | null;
            /** @description What it may destroy; stands before everything that the asker wrote. */
            warning?: string | null;
        };
        SpokenOutcome: components["schemas"]["RouteOutcome"] & {
            /**
             * Format: double
             * @description How sure the transcription is, from 0 to 1, where it says so.
             */
            confidence?: number;
            /** @description What was understood. */
            text: string;
        };
        Status: components["schemas"]["Figures"] & {
            member_id: string;
            name: string;
            /** @example ok */
            status: string;
            workspace: components["schemas"]["Workspace"];
        };
        Task: {
            assigned_to: string | null;
            channel_id: string | null;
            created_at: components["schemas"]["i64"];
            created_by: string;
            description: string;
            id: string;
            message_id: string | null;
            priority: components["schemas"]["Priority"];
            status: components["schemas"]["TaskStatus"];
            title: string;
            updated_at: components["schemas"]["i64"];
            workspace_id: string;
        };
        /** @description What is left out stays as it is. */
        TaskChange: {
            /** @description Oneself to claim it (409 when somebody else has it), another member to assign it, `null` to free it. */
            assigned_to?: string | null;
            description?: string | null;
            priority?: components["schemas"]["Priority"] | null;
            status?: components["schemas"]["TaskStatus"] | null;
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
            expires_at: components["schemas"]["i64"];
        };
        /** @description The Telegram account that speaks for the caller. */
        TelegramLinkObject: {
            linked: boolean;
            linked_at: components["schemas"]["i64"] | null;
            /** @description What the account calls itself. */
            name: string | null;
            /**
             * Format: int64
             * @description Telegram's number of the account.
             */
            user_id: number | null;
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
            channel_id: string;
            name: string;
            type: components["schemas"]["ChannelKind"];
            /** Format: int64 */
            unread_count: number;
        };
        /** @description The form of an upload. */
        UploadForm: {
            /** @description The channel whose members may read it; left out, only the uploader may until it is posted. */
            channel_id?: string | null;
            /**
             * Format: binary
             * @description The bytes, at most 32 MB.
             */
            file: string;
        };
        UsageObject: {
            me: components["schemas"]["MemberUse"];
            /** Format: int32 */
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
            comment?: string | null;
            /**
             * @description `approved`, `changes_requested`, `rejected`, `denied` or `commented`.
             * @example approved
             */
            status: string;
        };
        /** @enum {string} */
        WakeReason: "mention" | "dm" | "thread_reply" | "task_assigned" | "manual";
        Webhook: {
            channel_id: string;
            created_at: components["schemas"]["i64"];
            created_by: string;
            id: string;
            name: string;
            workspace_id: string;
        };
        WebhookBody: {
            channel_id: string;
            /** @example builds */
            name: string;
        };
        Why: {
            why?: string | null;
        };
        Woken: {
            agent_id: string;
            name: string;
            presence: components["schemas"]["Presence"];
            /** @description Whether it would be woken now; otherwise when it is back. */
            reachable: boolean;
            /** @description `mention`, `dm` or `thread_reply`. */
            reason: components["schemas"]["WakeReason"];
        };
        Workspace: {
            created_at: components["schemas"]["i64"];
            id: string;
            name: string;
            slug: string;
        };
        /** @description What is left out stays as it is. */
        WorkspaceChange: {
            name?: string | null;
            /** @description The short name in `name@slug`. */
            slug?: string | null;
        };
        WorkspaceRef: {
            id: string;
            name: string;
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
        /** Format: int64 */
        i64: number;
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
