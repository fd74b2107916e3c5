/** The example agents that the kits' own tests run, for whoever has just made a key. There is no second copy of them. */
import curl from '../../../sdk/curl/agent.sh?raw';
import python from '../../../sdk/python/examples/agent.py?raw';
import typescript from '../../../sdk/typescript/examples/agent.ts?raw';

export const EXAMPLES = [
  { language: 'TypeScript', source: typescript },
  { language: 'Python', source: python },
  { language: 'curl', source: curl },
] as const;

/** An example with the address and the key in the places of those that it is written with. */
export function filled(source: string, address: string, key: string): string {
  return source.replaceAll('http://127.0.0.1:8484', () => address).replaceAll('lr_YOUR_KEY', () => key);
}
