// Lunr, which searches the site, takes `-word` for "without word". Here it is an option, as in `--no-files`.
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
  if (typeof message?.data === "string") {
    message = { ...message, data: message.data.replace(/(^|\s)-+(?=\w)/g, "$1") };
  }
  return post.call(this, message, ...rest);
};

// Tables and code that are wider than the page are scrolled by keyboard, too.
document.addEventListener("DOMContentLoaded", () => {
  for (const part of document.querySelectorAll(".md-typeset__table, .md-typeset__scrollwrap, .md-typeset pre > code")) {
    part.tabIndex = 0;
  }
});
