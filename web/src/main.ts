import './app.css';
import './markdown.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { look } from './lib/theme.svelte';

look.show();
const target = document.getElementById('app')!;
target.replaceChildren();
mount(App, { target });
