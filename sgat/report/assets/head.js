// Sets the theme before anything is drawn: the reader's choice, else the system's.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("sgat-report-theme");
  } catch {
    // A page opened from disk may not be allowed to remember.
  }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = chosen ?? (dark ? "dark" : "light");
})();
