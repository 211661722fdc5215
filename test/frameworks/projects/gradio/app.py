from pathlib import Path

import gradio as gr

with gr.Blocks(title="Gradio") as demo:
    gr.Markdown("# First version")
    name = gr.Textbox(label="Name")
    greeting = gr.Markdown()
    gr.Button("Greet").click(lambda name: f"Hello, {name}", name, greeting)
    posts = gr.Markdown(Path("posts.txt").read_text())
    gr.Timer(0.5).tick(Path("posts.txt").read_text, None, posts)

demo.launch()
