//! What the bridge keeps on disk: updates taken, prompts, what is to be sent, preferences.
