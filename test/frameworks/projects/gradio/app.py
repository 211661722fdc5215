from pathlib import Path

import gradio as gr

with gr.Blocks(title="Gradio") as demo:
    gr.Markdown("# First version")
    name = gr.Textbox(label="Name")
    greeting = gr.Markdown()
    gr.Button("Greet").click(lambda name: f"Hello, {name}", name, greeting)
    news = gr.Markdown(Path("news.txt").read_text())
    gr.Timer(0.5).tick(Path("news.txt").read_text, None, news)

demo.launch()
