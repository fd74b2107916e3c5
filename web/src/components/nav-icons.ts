import Bell from '@lucide/svelte/icons/bell';
import Bot from '@lucide/svelte/icons/bot';
import ListTodo from '@lucide/svelte/icons/list-todo';
import MessagesSquare from '@lucide/svelte/icons/messages-square';
import Phone from '@lucide/svelte/icons/phone';
import Search from '@lucide/svelte/icons/search';
import Server from '@lucide/svelte/icons/server';
import Settings from '@lucide/svelte/icons/settings';

export const navIcons = { threads: MessagesSquare, tasks: ListTodo, agents: Bot, machines: Server, admin: Settings, search: Search, needs: Bell, calls: Phone };
