/** How the page looks, as this browser's owner likes it. */
import { keep, kept } from './storage';

export interface Taste {
  theme: 'system' | 'light' | 'dark';
  contrast: 'normal' | 'high';
  text: 'small' | 'normal' | 'large';
  density: 'cosy' | 'compact';
  /** Single letters as commands outside of text fields. */
  singleKeys: boolean;
  /** `Enter` sends; otherwise `Ctrl Enter` does. */
  enterSends: boolean;
}

const usual: Taste = { theme: 'system', contrast: 'normal', text: 'normal', density: 'cosy', singleKeys: true, enterSends: true };

class Look {
  taste = $state<Taste>({ ...usual, ...kept<Partial<Taste>>('taste') });

  set(change: Partial<Taste>): void {
    this.taste = { ...this.taste, ...change };
    keep('taste', this.taste);
    this.show();
  }

  show(): void {
    const { dataset } = document.documentElement;
    dataset.theme = this.taste.theme;
    dataset.contrast = this.taste.contrast;
    dataset.text = this.taste.text;
    dataset.density = this.taste.density;
  }
}

export const look = new Look();
