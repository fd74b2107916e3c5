/** One-to-one calls: the hub carries the signalling, sound and picture go from browser to browser. */
import { announcer } from './announce.svelte';
import { hub } from './hub.svelte';
import { complain } from './toasts.svelte';
import type { Json } from './frame';

export type CallKind = 'audio' | 'video';
/** Who waits for whom: `calling` the other side rings, `ringing` we are asked, `joining` both agreed, `live` we hear each other. */
export type Phase = 'calling' | 'ringing' | 'joining' | 'live';

export interface Call {
  id: string;
  peer: string;
  kind: CallKind;
  phase: Phase;
  startedAt: number;
}

class Calls {
  current = $state.raw<Call | null>(null);
  /** Why the last one ended, until the next begins. */
  ended = $state('');
  muted = $state(false);
  dark = $state(false);
  local = $state.raw<MediaStream | null>(null);
  remote = $state.raw<MediaStream | null>(null);

  private pc: RTCPeerConnection | null = null;
  private offer = '';
  private early: RTCIceCandidateInit[] = [];
  private unsent: RTCIceCandidate[] = [];
  /** Other tabs of the same browser ring as well; whoever answers tells them. */
  private readonly tabs = typeof BroadcastChannel === 'function' ? new BroadcastChannel('folkmoot.calls') : null;

  /** Listens for calls until the returned function is called. */
  listen(): () => void {
    const stops = [
      hub.on('call.ring', (data) => this.onRing(data)),
      hub.on('call.offer', (data) => this.onOffer(data)),
      hub.on('call.answer', (data) => void this.onAnswer(data).catch(complain)),
      hub.on('call.ice', (data) => void this.onCandidate(data)),
      hub.on('call.end', (data) => this.isMine(data) && this.onEnd(String(data.reason ?? ''))),
    ];
    if (this.tabs) this.tabs.onmessage = (event) => this.current?.phase === 'ringing' && event.data === this.current.id && this.finish('');
    return () => stops.forEach((stop) => stop());
  }

  /** `answered` stops the ringing where the call was not taken; where it was, it goes on. */
  private onEnd(reason: string): void {
    if (reason !== 'answered') this.finish(said(reason));
    else if (this.current?.phase === 'ringing') this.finish('');
  }

  async call(peer: string, kind: CallKind): Promise<void> {
    if (this.current) return;
    this.begin({ id: '', peer, kind, phase: 'calling', startedAt: Date.now() });
    try {
      const pc = await this.connect(kind);
      await pc.setLocalDescription(await pc.createOffer());
      const answer = await hub.socket.ask('call.offer', { callee_id: peer, type: kind, sdp: pc.localDescription!.sdp });
      const id = String(answer.data.call_id);
      // Hung up while the hub was still being asked.
      if (this.pc !== pc) {
        hub.socket.tell('call.end', { call_id: id });
        return;
      }
      this.current = { id, peer, kind, phase: 'calling', startedAt: Date.now() };
      for (const candidate of this.unsent.splice(0)) this.tellCandidate(candidate);
    } catch (error) {
      this.finish('');
      complain(explained(error));
    }
  }

  async answer(): Promise<void> {
    const call = this.current;
    if (call?.phase !== 'ringing' || !this.offer) return;
    this.tabs?.postMessage(call.id);
    this.current = { ...call, phase: 'joining' };
    try {
      const pc = await this.connect(call.kind);
      await pc.setRemoteDescription({ type: 'offer', sdp: this.offer });
      await pc.setLocalDescription(await pc.createAnswer());
      hub.socket.tell('call.answer', { call_id: call.id, sdp: pc.localDescription!.sdp });
      await this.takeEarly();
    } catch (error) {
      this.hangUp();
      complain(explained(error));
    }
  }

  hangUp(): void {
    const id = this.current?.id;
    if (id) {
      hub.socket.tell('call.end', { call_id: id });
      this.tabs?.postMessage(id);
    }
    this.finish('');
  }

  mute(): void {
    this.muted = !this.muted;
    for (const track of this.local?.getAudioTracks() ?? []) track.enabled = !this.muted;
  }

  darken(): void {
    this.dark = !this.dark;
    for (const track of this.local?.getVideoTracks() ?? []) track.enabled = !this.dark;
  }

  private begin(call: Call): void {
    this.ended = '';
    this.current = call;
  }

  private async connect(kind: CallKind): Promise<RTCPeerConnection> {
    if (!navigator.mediaDevices) throw new Error('Calls need an encrypted address (https), or this machine itself.');
    this.local = await navigator.mediaDevices.getUserMedia({ audio: true, video: kind === 'video' });
    // No helper servers: nothing is asked of any other host. It connects within a network, or where both sides have open addresses.
    const pc = new RTCPeerConnection({ iceServers: [] });
    this.pc = pc;
    for (const track of this.local.getTracks()) pc.addTrack(track, this.local);
    pc.onicecandidate = ({ candidate }) => candidate && this.tellCandidate(candidate);
    pc.ontrack = ({ streams }) => (this.remote = streams[0] ?? null);
    pc.onconnectionstatechange = () => this.onState(pc);
    return pc;
  }

  private onState(pc: RTCPeerConnection): void {
    if (pc !== this.pc || !this.current) return;
    if (pc.connectionState === 'connected') {
      this.current = { ...this.current, phase: 'live', startedAt: Date.now() };
      announcer.say('You are connected.');
    } else if (pc.connectionState === 'failed') {
      this.hangUp();
      this.ended = 'The connection between the two browsers was lost.';
    }
  }

  private tellCandidate(candidate: RTCIceCandidate): void {
    if (!this.current?.id) this.unsent.push(candidate);
    else hub.socket.tell('call.ice', { call_id: this.current.id, target_id: this.current.peer, candidate: candidate.toJSON() });
  }

  private onRing(data: Json): void {
    if (this.current) return;
    const peer = String(data.caller_id);
    this.begin({ id: String(data.call_id), peer, kind: data.type === 'video' ? 'video' : 'audio', phase: 'ringing', startedAt: Date.now() });
    announcer.now(`${String(data.caller_name ?? hub.data.nameOf(peer))} calls you.`);
  }

  private onOffer(data: Json): void {
    if (typeof data.sdp !== 'string' || !this.isMine(data) || this.current?.phase !== 'ringing') return;
    this.offer = data.sdp;
  }

  private async onAnswer(data: Json): Promise<void> {
    if (!this.isMine(data) || !this.pc || this.current?.phase !== 'calling') return;
    this.current = { ...this.current, phase: 'joining' };
    await this.pc.setRemoteDescription({ type: 'answer', sdp: String(data.sdp) });
    await this.takeEarly();
  }

  private async onCandidate(data: Json): Promise<void> {
    if (!this.isMine(data)) return;
    const candidate = data.candidate as RTCIceCandidateInit;
    if (this.pc?.remoteDescription) await this.pc.addIceCandidate(candidate).catch(() => {});
    else this.early.push(candidate);
  }

  private async takeEarly(): Promise<void> {
    for (const candidate of this.early.splice(0)) await this.pc?.addIceCandidate(candidate).catch(() => {});
  }

  private isMine(data: Json): boolean {
    return this.current !== null && data.call_id === this.current.id;
  }

  private finish(why: string): void {
    for (const track of this.local?.getTracks() ?? []) track.stop();
    this.pc?.close();
    this.pc = null;
    this.offer = '';
    this.early = [];
    this.unsent = [];
    this.local = this.remote = null;
    this.muted = this.dark = false;
    this.current = null;
    this.ended = why;
  }
}

function said(reason: string): string {
  const words: Record<string, string> = { missed: 'Nobody answered.', busy: 'They are in another call.', declined: 'The call was declined.' };
  return words[reason] ?? 'The call has ended.';
}

function explained(error: unknown): Error {
  if (error instanceof DOMException && error.name === 'NotAllowedError') return new Error('The browser did not allow the microphone or camera.');
  if (error instanceof DOMException && error.name === 'NotFoundError') return new Error('There is no microphone or camera.');
  return error instanceof Error ? error : new Error(String(error));
}

export const calls = new Calls();
