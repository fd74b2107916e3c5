/** Words for screen readers: polite ones wait for a pause, urgent ones do not. */
class Announcer {
  polite = $state('');
  urgent = $state('');

  say(text: string): void {
    this.polite = text;
  }

  now(text: string): void {
    this.urgent = text;
  }
}

export const announcer = new Announcer();
