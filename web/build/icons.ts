/**
 * Icons as plain drawings. A component of the icon package builds its drawing out of data, element by element, each time it is
 * shown; the page needs only a size, so each becomes a component of one fixed drawing, which the browser copies in one go.
 */
import type { Plugin } from 'vite';

type Drawing = [tag: string, attributes: Record<string, string>][];

export function plainIcons(): Plugin {
  return {
    name: 'plain-icons',
    enforce: 'pre',
    transform: {
      filter: { id: /@lucide\/svelte\/dist\/icons\/[\w-]+\.svelte$/ },
      handler(source) {
        const data = /const iconData = (\{.*\});/.exec(source)?.[1];
        if (!data) return this.error('the icon package has changed: its drawing is not where it was');
        const { name, node } = JSON.parse(data) as { name: string; node: Drawing };
        return component(name, node);
      },
    },
  };
}

const component = (name: string, drawing: Drawing): string =>
  `<script>let { size = 24 } = $props();</script>
<svg xmlns="http://www.w3.org/2000/svg" class="icon ${name}" width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${drawing.map(element).join('')}</svg>`;

const element = ([tag, attributes]: Drawing[number]): string =>
  `<${tag} ${Object.entries(attributes).map(([key, value]) => `${key}="${value}"`).join(' ')} />`;
