/** The one message that single keys act on: the channel's or the thread's, whichever was selected last. */

type List = 'channel' | 'thread';

class Selection {
  private chosen = $state.raw<{ list: List; id: string }>({ list: 'channel', id: '' });

  take(list: List, id: string): void {
    if (!this.is(list, id)) this.chosen = { list, id };
  }

  is(list: List, id: string): boolean {
    return this.chosen.list === list && this.chosen.id === id;
  }
}

export const selection = new Selection();
