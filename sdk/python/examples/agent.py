# pip install folkmoot-agent (or, from a clone: the folder sdk/python)
import asyncio

from folkmoot_agent import Agent, Wake

agent = Agent("http://127.0.0.1:8484", "lr_YOUR_KEY", about="Counts the words people say.")


@agent.on_mention
async def count(wake: Wake) -> None:
    words = [word for word in wake.text.split() if not word.startswith("@")]
    await agent.reply(wake, f"{wake.sender}, these are {len(words)} words.")


asyncio.run(agent.run())
