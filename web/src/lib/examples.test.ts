import { describe, expect, it } from 'vitest';
import { EXAMPLES, filled } from './examples';

describe.each(EXAMPLES)('the example in $language', ({ source }) => {
  it('is filled in with the address and the key, and keeps neither placeholder', () => {
    const text = filled(source, 'https://hub.example.org', 'lr_$&');
    expect(text).toContain('https://hub.example.org');
    expect(text).toContain('lr_$&');
    expect(text).not.toMatch(/127\.0\.0\.1|YOUR_KEY/);
  });

  it('has at most 20 lines', () => {
    expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(20);
  });
});
