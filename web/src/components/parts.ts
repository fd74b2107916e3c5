/** The second file of the page: what it takes to read, and what comes up now and then. Shown through `lib/parts`. */
export { default as ApprovalCard } from './ApprovalCard.svelte';
export { default as AtWork } from './AtWork.svelte';
export { default as Attachments } from './Attachments.svelte';
export { default as Dialogs } from './Dialogs.svelte';
export { default as LinkBar } from './LinkBar.svelte';
export { default as Markdown } from './Markdown.svelte';
export { default as MessageList } from './MessageList.svelte';
export { default as PendingRow } from './PendingRow.svelte';
export { default as ReSignIn } from './ReSignIn.svelte';
export { default as SidePanel } from './SidePanel.svelte';
export { default as SuggestList } from './SuggestList.svelte';
export { default as Toasts } from './Toasts.svelte';
