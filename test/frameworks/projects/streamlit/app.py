from pathlib import Path

import streamlit as st

st.title("First version")

with st.form("greet"):
    name = st.text_input("Name")
    if st.form_submit_button("Greet"):
        st.write(f"Hello, {name}")

file = st.file_uploader("File")
if file is not None:
    st.write(f"{file.name} has {len(file.read())} bytes")


@st.fragment(run_every="250ms")
def posts():
    st.write(Path("posts.txt").read_text())


posts()
